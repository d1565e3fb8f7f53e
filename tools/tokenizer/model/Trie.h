//===- Trie.h - Find tokens that a text begins with -----------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_MODEL_TRIE_H
#define FRIT_TOOLS_TOKENIZER_MODEL_TRIE_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace frit::tokenizer {

/// A position in the vocabulary, as models take it.
using TokenId = int32_t;

/// An immutable set of texts with their tokens.
class Trie {
public:
  struct Entry {
    std::string text;
    TokenId id;
  };

  Trie() = default;
  /// Of entries with the same text, the last one counts. An empty text is left
  /// out.
  explicit Trie(std::vector<Entry> entries);

  bool isEmpty() const { return nodes.size() < 2; }

  /// Calls `found(bytes, id)` for each entry that `text` begins with, the
  /// shortest first.
  template <typename Found>
  void forEachPrefix(std::string_view text, Found found) const {
    if (isEmpty())
      return;
    uint32_t node = 0;
    for (size_t at = 0; at < text.size(); ++at) {
      node = childOf(node, uint8_t(text[at]));
      if (!node)
        return;
      if (nodes[node].id >= 0)
        found(at + 1, nodes[node].id);
    }
  }

private:
  struct Node {
    uint32_t firstChild = 0; ///< children are neighbours, ordered by byte
    uint16_t children = 0;
    uint8_t byte = 0;
    TokenId id = -1; ///< of the entry that ends here
  };

  /// Returns 0, the root, if there is none.
  uint32_t childOf(uint32_t node, uint8_t byte) const {
    auto first = nodes.begin() + nodes[node].firstChild;
    auto last = first + nodes[node].children;
    auto child =
        std::lower_bound(first, last, byte, [](const Node &node, uint8_t byte) {
          return node.byte < byte;
        });
    return child != last && child->byte == byte
               ? uint32_t(child - nodes.begin())
               : 0;
  }

  std::vector<Node> nodes;
};

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_MODEL_TRIE_H

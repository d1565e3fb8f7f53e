//===- Trie.cpp - Find tokens that a text begins with ---------------------===//

#include "tools/tokenizer/model/Trie.h"

using namespace frit::tokenizer;

namespace {
/// Entries [begin, end), which share their first `depth` bytes.
struct Group {
  uint32_t node;
  size_t begin, end, depth;
};
} // namespace

Trie::Trie(std::vector<Entry> entries) {
  std::ranges::stable_sort(entries, {}, &Entry::text);
  nodes.emplace_back();
  // Breadth first, so that the children of a node are neighbours.
  std::vector<Group> groups{{0, 0, entries.size(), 0}};
  for (size_t next = 0; next < groups.size(); ++next) {
    auto [node, begin, end, depth] = groups[next];
    // Texts that end here come first.
    for (; begin < end && entries[begin].text.size() == depth; ++begin)
      if (depth)
        nodes[node].id = entries[begin].id;
    nodes[node].firstChild = uint32_t(nodes.size());
    while (begin < end) {
      uint8_t byte = uint8_t(entries[begin].text[depth]);
      size_t stop = begin;
      while (stop < end && uint8_t(entries[stop].text[depth]) == byte)
        ++stop;
      groups.push_back({uint32_t(nodes.size()), begin, stop, depth + 1});
      Node child;
      child.byte = byte;
      nodes.push_back(child);
      ++nodes[node].children;
      begin = stop;
    }
  }
}

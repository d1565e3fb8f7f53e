//===- amx_test.cpp - The loops for AMX on emulated tiles -----------------===//
//
// Runs the text of AmxKernel.inc on any processor with VNNI: quantized
// convolutions against loops.
//
//===----------------------------------------------------------------------===//

#include "cpu_kernels_check.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
/// The operand of LDTILECFG: rows and bytes a row of each register.
struct Layout {
  uint8_t palette, startRow, reserved[14];
  uint16_t rowBytes[16];
  uint8_t rows[16];
};

/// The state of a thread.
struct Tiles {
  Layout layout = {};
  alignas(64) char bytes[8][16][64] = {};

  /// A register is read or written.
  void use(int tile) const {
    if (layout.palette == 1 && !layout.startRow && layout.rows[tile] == 16 &&
        layout.rowBytes[tile] == 64)
      return;
    std::printf("tile %d is not configured as 16 rows of 64 bytes\n", tile);
    std::abort();
  }
};
thread_local Tiles tiles;

void _tile_loadconfig(const void *from) {
  std::memcpy(&tiles.layout, from, sizeof(Layout));
  std::memset(tiles.bytes, 0, sizeof tiles.bytes);
}

void _tile_release() { tiles.layout.palette = 0; }

void _tile_zero(int tile) {
  tiles.use(tile);
  std::memset(tiles.bytes[tile], 0, sizeof tiles.bytes[tile]);
}

void _tile_loadd(int tile, const void *from, int64_t pitch) {
  tiles.use(tile);
  for (int i = 0; i < 16; ++i)
    std::memcpy(tiles.bytes[tile][i],
                static_cast<const char *>(from) + i * pitch, 64);
}

void _tile_stored(int tile, void *to, int64_t pitch) {
  tiles.use(tile);
  for (int i = 0; i < 16; ++i)
    std::memcpy(static_cast<char *>(to) + i * pitch, tiles.bytes[tile][i], 64);
}

/// Element j of row i of the sums gains Σ_k a(i, 4k + x) · b(k, 4j + x),
/// unsigned by signed.
void _tile_dpbusd(int sums, int a, int b) {
  for (int tile : {sums, a, b})
    tiles.use(tile);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      int32_t sum;
      char *at = tiles.bytes[sums][i] + j * 4;
      std::memcpy(&sum, at, 4);
      for (int k = 0; k < 16; ++k)
        for (int x = 0; x < 4; ++x)
          sum += uint8_t(tiles.bytes[a][i][k * 4 + x]) *
                 int8_t(tiles.bytes[b][k][j * 4 + x]);
      std::memcpy(at, &sum, 4);
    }
}
} // namespace

// Defines amx::integerKernel(), which the runtime's library then does not.
#include "runtime/cpu/kernels/AmxKernel.inc"

int main() {
  bool hasVnni = false;
  for (frit::cpu::Isa isa : frit::cpu::isas())
    hasVnni |= isa == frit::cpu::Isa::avx512vnni;
  if (!hasVnni) {
    std::printf("not tried: the processor has no VNNI\n");
    return 77;
  }
  frit::test::testQuantized({frit::cpu::Isa::amx});
  if (tiles.layout.palette) {
    std::printf("the tiles were not released\n");
    ++frit::test::failures;
  }
  std::printf(frit::test::failures ? "%d failures\n" : "ok\n",
              frit::test::failures);
  return frit::test::failures != 0;
}

// Tile registers: eight of up to 16 rows of 64 bytes, and the product of two of them. Kernels are
// templates over the class that has the operations: HardwareTiles is Intel's AMX, EmulatedTiles is
// plain C++ that gives the same bits, for machines and sanitizers without it.
//
//   tiles.Configure(TileShapes(...));       // per thread, before anything else
//   tiles.template Zero<0>();
//   tiles.template Load<4>(a, stride);      // rows `stride` bytes apart
//   tiles.template Multiply<0, 4, 6>();     // tile 0 += tile 4 * tile 6
//   tiles.template Store<0>(sums, stride);
//   tiles.Release();
//
// Multiply: c[i][j] += sum over k of a[i][2k] * b[k][2j] + a[i][2k + 1] * b[k][2j + 1], where a and
// b hold bfloat16 and c float32: b has the elements of two rows of a matrix side by side. The sums
// of even and of odd products are formed apart, each by fused multiply-adds in order of k, then
// added to each other and to c; all operands and results that are denormal become zero, and
// rounding is to nearest, whatever the mode of the thread. (Intel's manual, volume 2, TDPBF16PS.)
// On hardware it takes a cycle per row of a, however many columns a has.
//
// MultiplyBytes: c[i][j] += sum over k and l < 4 of a[i][4k + l] * b[k][4j + l], where a holds
// uint8, b int8 and c int32, which wraps around (TDPBUSD).

#ifndef DTNN_KERNELS_AMX_TILES_H_
#define DTNN_KERNELS_AMX_TILES_H_

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/amx/flush.h"
#include "tensor/float16.h"

// clang's assembler wants the calling function to be compiled for AMX.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define DTNN_HAS_TILES 1
#endif

namespace dtnn {

inline constexpr int kTiles = 8, kTileRows = 16, kTileBytes = 64;

// The shape of every tile, in the layout that LDTILECFG reads.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  void Set(int tile, int tile_rows, int bytes) {
    assert(tile < kTiles && tile_rows > 0 && tile_rows <= kTileRows && bytes > 0 &&
           bytes <= kTileBytes && bytes % 4 == 0);
    rows[tile] = uint8_t(tile_rows);
    row_bytes[tile] = uint16_t(bytes);
  }
};
static_assert(sizeof(TileShapes) == 64);

// A full block of products: tiles 0 to 3 are sums, 4 and 5 hold `depth` bytes of 16 rows each, 6
// and 7 the same depth of 16 columns each. Depth is a multiple of 4 and at most 64. With fewer
// `rows` than 16, products are as much faster.
inline TileShapes ByteProductShapes(int depth, int rows = kTileRows) {
  TileShapes shapes;
  for (int tile = 0; tile < 4; ++tile) shapes.Set(tile, rows, kTileBytes);
  for (int tile = 4; tile < 6; ++tile) shapes.Set(tile, rows, depth);
  for (int tile = 6; tile < 8; ++tile) shapes.Set(tile, depth / 4, kTileBytes);
  return shapes;
}
// The same with a depth in bfloat16: even and at most 32.
inline TileShapes ProductShapes(int depth, int rows = kTileRows) {
  return ByteProductShapes(2 * depth, rows);
}

#ifdef DTNN_HAS_TILES
// AmxRefusal() must be empty. The instructions are known to every assembler that is recent
// enough, so that functions with them need no flags of their own.
class HardwareTiles {
 public:
  static constexpr bool kHardware = true;

  void Configure(const TileShapes& shapes) { asm volatile("ldtilecfg %0" : : "m"(shapes)); }
  // An idle thread with tiles in use is slower to switch.
  void Release() { asm volatile("tilerelease"); }
  template <int kTile>
  void Zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  // "memory": what the caller stored before must be there.
  template <int kTile>
  void Load(const void* from, int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  void Store(void* to, int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kSums, int kA, int kB>
  void Multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kA), "i"(kB));
  }
  template <int kSums, int kA, int kB>
  void MultiplyBytes() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kA), "i"(kB));
  }
};
#endif

class EmulatedTiles {
 public:
  static constexpr bool kHardware = false;

  void Configure(const TileShapes& shapes) {
    shapes_ = shapes;
    std::memset(tiles_, 0, sizeof(tiles_));
  }
  void Release() { shapes_ = TileShapes(); }
  template <int kTile>
  void Zero() {
    std::memset(tiles_[kTile], 0, sizeof(tiles_[kTile]));
  }
  template <int kTile>
  void Load(const void* from, int64_t stride) {
    Zero<kTile>();  // as on hardware, what lies beyond the shape
    for (int i = 0; i < Rows(kTile); ++i) {
      std::memcpy(tiles_[kTile][i], static_cast<const std::byte*>(from) + i * stride,
                  shapes_.row_bytes[kTile]);
    }
  }
  template <int kTile>
  void Store(void* to, int64_t stride) {
    for (int i = 0; i < Rows(kTile); ++i) {
      std::memcpy(static_cast<std::byte*>(to) + i * stride, tiles_[kTile][i],
                  shapes_.row_bytes[kTile]);
    }
  }
  template <int kSums, int kA, int kB>
  void Multiply() {
    CheckShapes(kSums, kA, kB);
    const int columns = shapes_.row_bytes[kSums] / 4, pairs = shapes_.row_bytes[kA] / 4;
    for (int i = 0; i < Rows(kSums); ++i) {
      for (int j = 0; j < columns; ++j) {
        float even = 0, odd = 0;
        for (int k = 0; k < pairs; ++k) {
          even = tile::FlushedMulAdd(Half(kA, i, 2 * k), Half(kB, k, 2 * j), even);
          odd = tile::FlushedMulAdd(Half(kA, i, 2 * k + 1), Half(kB, k, 2 * j + 1), odd);
        }
        float sum;
        std::byte* const at = tiles_[kSums][i] + 4 * j;
        std::memcpy(&sum, at, sizeof(sum));
        sum = tile::Flush(tile::Flush(sum) + tile::Flush(even + odd));
        std::memcpy(at, &sum, sizeof(sum));
      }
    }
  }
  template <int kSums, int kA, int kB>
  void MultiplyBytes() {
    CheckShapes(kSums, kA, kB);
    const int columns = shapes_.row_bytes[kSums] / 4, depth = shapes_.row_bytes[kA];
    for (int i = 0; i < Rows(kSums); ++i) {
      for (int j = 0; j < columns; ++j) {
        uint32_t sum;  // unsigned numbers may wrap around
        std::byte* const at = tiles_[kSums][i] + 4 * j;
        std::memcpy(&sum, at, sizeof(sum));
        for (int k = 0; k < depth; ++k) {
          sum += uint32_t(int(uint8_t(tiles_[kA][i][k])) *
                          int(int8_t(tiles_[kB][k / 4][4 * j + k % 4])));
        }
        std::memcpy(at, &sum, sizeof(sum));
      }
    }
  }

 private:
  // The shapes that hardware takes; others are an invalid instruction.
  void CheckShapes([[maybe_unused]] int sums, [[maybe_unused]] int a,
                   [[maybe_unused]] int b) const {
    assert(Rows(sums) == Rows(a) && 4 * Rows(b) == shapes_.row_bytes[a] &&
           shapes_.row_bytes[b] == shapes_.row_bytes[sums]);
  }
  int Rows(int tile) const { return shapes_.rows[tile]; }
  float Half(int tile, int row, int column) const {
    Bfloat16 value;
    std::memcpy(&value, tiles_[tile][row] + 2 * column, sizeof(value));
    return tile::Flush(float(value));
  }

  TileShapes shapes_;
  std::byte tiles_[kTiles][kTileRows][kTileBytes];
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_AMX_TILES_H_

// Forward and backward data of variant i2c: rows of the (implicit) patch matrix times the packed
// filter, with the epilogue in the write-back.
//
// Tiles of up to 12 output pixels are multiplied with panels of one or two vectors of output
// columns; the sums stay in registers over the whole patch. The patches are pointers into the input
// where a pixel has enough channels, and else a copy that stays in the first cache. On small maps a
// tile is the same pixel of several images, so that taps in the padding cost nothing: a 3x3 kernel
// on a 2x2 map needs 4 of 9 taps.

#ifndef DTNN_KERNELS_CONV_GATHER_GEMM_H_
#define DTNN_KERNELS_CONV_GATHER_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/i2c_cpu.h"
#include "kernels/conv/im2col.h"

namespace dtnn::i2c {

// What happens to the sums of a call; see kernels/epilogue.h.
template <typename T>
struct WriteBack {
  const T* scale = nullptr;  // padded to padded_columns(), or null
  const T* bias = nullptr;
  Pixels<const T> addend;  // data may be null
  bool relu = false;
};

template <typename T>
class GatherGemm {
 public:
  // `zeros` holds gather.depth zeros and outlives this.
  GatherGemm(Gather gather, const T* zeros);

  const Gather& gather() const { return gather_; }
  // Output columns rounded up to whole vectors.
  int64_t padded_columns() const;
  // Elements of the packed filter, which is 64-byte aligned.
  int64_t packed_elements() const { return gather_.patch() * padded_columns(); }
  void Pack(const T* filter, int64_t tap_stride, int64_t depth_stride, int64_t column_stride,
            T* packed) const;

  // Scratch of one thread; a multiple of 64.
  size_t thread_bytes() const;
  // `images` images of `in` to `out`; `scratch` has `threads` times thread_bytes().
  void Run(Pixels<const T> in, int64_t images, const T* packed, const WriteBack<T>& write_back,
           Pixels<T> out, int threads, std::byte* scratch) const;

 private:
  struct Job;      // one call
  struct Scratch;  // one thread's
  Scratch Divide(std::byte* scratch) const;
  void RunTiles(const Job& job, int64_t first_tile, int64_t last_tile, int64_t first_panel,
                int64_t last_panel, const Scratch& scratch) const;
  void Prepare(const Job& job, int64_t index, const Scratch& scratch, int64_t slot) const;
  void PointToTaps(const T* const* images, const int32_t* const* rows,
                   const int32_t* const* columns, int64_t pitch, Tile<T>& tile) const;
  int64_t panel_width() const { return 2 * kernels_.lanes; }
  int64_t panels() const { return (padded_columns() + panel_width() - 1) / panel_width(); }

  const Kernels<T>& kernels_;
  Gather gather_;
  const T* zeros_;
  bool copies_patches_;  // a pixel has too few channels to be worth a pointer
  int64_t block_;        // tiles whose patches are prepared together
};

}  // namespace dtnn::i2c

#endif  // DTNN_KERNELS_CONV_GATHER_GEMM_H_

// Forward and backward data of variant gemm: rows of the (implicit) patch matrix times the packed
// filter, with the epilogue in the write-back.
//
// Tiles of up to 12 output pixels are multiplied with panels of one or two vectors of output
// columns; the sums stay in registers over the whole patch. The patches are pointers into the input
// where a pixel has enough channels, and else a copy that stays in the first cache. Taps that no
// pixel of a tile has are left out: on small maps a tile is the same pixel of several images, so
// that taps in the padding cost nothing (a 3x3 kernel on a 2x2 map needs 4 of 9 taps), and with a
// stride the pixels of dx are taken phase by phase (a 3x3 kernel with stride 2 needs 1 to 4 taps).

#ifndef DTNN_KERNELS_CONV_GEMM_GATHER_GEMM_H_
#define DTNN_KERNELS_CONV_GEMM_GATHER_GEMM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/conv/gemm/gemm_cpu.h"
#include "kernels/conv/kernel.h"
#include "kernels/conv/patches.h"

namespace dtnn::conv::gemm {

template <typename T>
class GatherGemm final : public DataKernel<T> {
 public:
  using typename DataKernel<T>::Call;

  GatherGemm(const Conv2dSpec& spec, Direction direction);

  int64_t derived_elements() const override { return gather_.patch() * padded_columns(); }
  void DeriveFilter(const Filter<const T>& filter, T* derived) const override;
  size_t workspace_bytes() const override { return size_t(threads_) * thread_bytes(); }
  void Run(const Call& call) const override;

 private:
  struct Job;      // one call
  struct Scratch;  // one thread's
  Scratch Divide(std::byte* scratch) const;
  size_t thread_bytes() const;
  void RunTiles(const Job& job, int64_t first_tile, int64_t last_tile, int64_t first_panel,
                int64_t last_panel, const Scratch& scratch) const;
  void Prepare(const Job& job, int64_t index, const Scratch& scratch, int64_t slot) const;
  void PointToTaps(const T* const* images, const int32_t* const* rows,
                   const int32_t* const* columns, const Images<const T>& in, Tile<T>& tile) const;
  // Output pixel `index` of an image in the order in which tiles take them.
  int64_t PixelAt(int64_t index) const { return order_.empty() ? index : order_[size_t(index)]; }
  // Output columns rounded up to whole vectors.
  int64_t padded_columns() const;
  int64_t panel_width() const { return 2 * kernels_.lanes; }
  int64_t panels() const { return (padded_columns() + panel_width() - 1) / panel_width(); }

  const Kernels<T>& kernels_;
  Gather gather_;
  bool backward_;
  int threads_;
  std::vector<T> zeros_;        // a pixel of padding
  std::vector<int32_t> order_;  // empty: row by row
  bool copies_patches_;         // a pixel has too few channels to be worth a pointer
  int64_t block_;               // tiles whose patches are prepared together
};

}  // namespace dtnn::conv::gemm

#endif  // DTNN_KERNELS_CONV_GEMM_GATHER_GEMM_H_

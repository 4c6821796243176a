// The copies of a strip that the gradient of a filter in tiles reads, where filter_plan.h puts each
// pixel.

#ifndef DTNN_KERNELS_CONV_AMX_FILTER_COPIES_H_
#define DTNN_KERNELS_CONV_AMX_FILTER_COPIES_H_

#include <cstdint>

#include "kernels/conv/amx/filter_plan.h"
#include "kernels/conv/images.h"

namespace dtnn::conv::amx {

class FilterCopies {
 public:
  // For a call with so many images. `vectors`: by the vectors of a CPU that has tiles.
  FilterCopies(const FilterPlan& plan, const FilterPlan::Memory& memory,
               const Images<const Bfloat16>& x, const Images<const Bfloat16>& dy, int64_t images,
               bool vectors)
      : plan_(plan), memory_(memory), x_(x), dy_(dy), images_(images), vectors_(vectors) {}

  // Fills memory.x and memory.dy, and across images the lists of steps.
  void Pack(const FilterPlan::Strip& strip) const;

  // The pixel of dy at a place of its copy, and that of x at the same place of a copy whose first
  // input is (down, right); null where there is none.
  const Bfloat16* DyAt(const FilterPlan::Strip& strip, int64_t image, int64_t row,
                       int64_t column) const;
  const Bfloat16* XAt(const FilterPlan::Strip& strip, int64_t image, int64_t row, int64_t column,
                      int64_t down, int64_t right) const;

 private:
  void ListSteps(const FilterPlan::Strip& strip) const;
  void PackDy(const FilterPlan::Strip& strip, int64_t first) const;
  void PackX(const FilterPlan::Strip& strip, int64_t plane, int64_t first) const;

  const FilterPlan& plan_;
  const FilterPlan::Memory& memory_;
  const Images<const Bfloat16>&x_, &dy_;
  int64_t images_;
  bool vectors_;
};

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_FILTER_COPIES_H_

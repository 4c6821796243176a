// What a task of a convolution in 8 bits does block by block: chooses steps, multiplies, and has
// the block before written back.

#ifndef DTNN_KERNELS_INT8_PIPELINE_H_
#define DTNN_KERNELS_INT8_PIPELINE_H_

#include <cstdint>
#include <optional>

#include "kernels/int8/image_rows.h"
#include "kernels/int8/products.h"

namespace dtnn::int8 {

// A block whose products are there: sums of `rows` results from `first` on.
struct Block {
  const int32_t* sums = nullptr;
  int64_t first_panel = 0, panel_count = 0, first = 0, rows = 0;
};

// Multiplies a block, then finishes the one before it: tiles multiply while vectors write.
template <class Finish>
class Pipeline {
 public:
  // `sums`: room for two blocks. finish(block).
  Pipeline(const ProductKernel& kernel, int32_t* sums, const Finish& finish)
      : kernel_(kernel), sums_(sums), finish_(finish) {}
  ~Pipeline() {
    if (last_.sums != nullptr) finish_(last_);
  }

  void Multiply(Products products, int64_t first_panel, int64_t first) {
    const bool odd = last_.sums == sums_;
    products.sums = sums_ + (odd ? kMostRows * kBlockFilters : 0);
    kernel_.multiply(products);
    if (last_.sums != nullptr) finish_(last_);
    last_ = {products.sums, first_panel, products.panel_count, first, products.rows};
  }

 private:
  const ProductKernel& kernel_;
  int32_t* const sums_;
  const Finish& finish_;
  Block last_;
};

// The steps of a result, without those that only read padding if that `skips`.
class UsedSteps {
 public:
  UsedSteps(const ImageRows& rows, int64_t images, int64_t image_rows, bool interleaved, bool skips,
            Step* steps)
      : rows_(rows),
        images_(images),
        image_rows_(image_rows),
        interleaved_(interleaved),
        skips_(skips),
        steps_(steps) {}

  // Writes them; how many. Of all results of row y without x.
  int64_t CountOf(int64_t y, std::optional<int64_t> x) {
    const Taps taps = skips_ ? rows_.TapsInside(y, x) : rows_.AllTaps();
    if (count_ < 0 || taps != taps_) {
      count_ = rows_.Steps(images_, image_rows_, interleaved_, taps, steps_);
      taps_ = taps;
    }
    return count_;
  }

 private:
  const ImageRows& rows_;
  const int64_t images_, image_rows_;
  const bool interleaved_, skips_;
  Step* const steps_;
  Taps taps_;  // of the steps that are there
  int64_t count_ = -1;
};

}  // namespace dtnn::int8

#endif  // DTNN_KERNELS_INT8_PIPELINE_H_

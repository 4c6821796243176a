// How often each class was taken for which: counted as batches are evaluated, shown as a table
// whose cells are the darker the more they hold.

#ifndef DTNN_MODELS_OBSERVE_REPORT_MISTAKES_CONFUSION_H_
#define DTNN_MODELS_OBSERVE_REPORT_MISTAKES_CONFUSION_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct Confusion {
  bool pixels = false;  // what is counted; else samples
  int64_t classes = 0;
  std::vector<int64_t> counts = {};  // [true class * classes + predicted class]

  int64_t samples() const;
  int64_t right() const;
  // The share of those that are truly and by prediction of class `index` among those that are
  // either; NaN where there are none.
  double IntersectionOverUnion(int64_t index) const;
};

// Beyond this, no matrix is kept: it would be larger than the page.
inline constexpr int64_t kMostConfusionClasses = 1000;

// Counts a batch; the largest prediction counts, the first of equal ones. Does nothing for targets
// that are not classes, for a single output, and for too many classes.
void Count(const Tensor& predictions, const Tensor& targets, Confusion& confusion);
// The same of the labelled pixels of images in `format`. `targets`: int32 (n, height, width).
void CountPixels(const Tensor& predictions, const Tensor& targets, TensorFormat format,
                 Confusion& confusion);

// "3", or "3 (cat)" where the names are known.
std::string ClassLabel(int64_t index, std::span<const std::string> names);

// The matrix of up to 20 classes; of more, the 30 most frequent confusions. Of pixels also the
// intersection over union of each class.
std::string FormatConfusion(const Confusion& confusion, std::span<const std::string> names);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_MISTAKES_CONFUSION_H_

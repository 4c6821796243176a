// The samples of an evaluation whose targets are values and that the network missed most: of labels
// that are 0 or 1, those with the most wrong ones (a label counts as given from 0.5 on); of
// quantities, those with the largest deviation in any output.
//
// As WrongImages, it looks at predictions as batches pass, and keeps few samples; those that are
// images with a picture.

#ifndef DTNN_MODELS_OBSERVE_REPORT_MISTAKES_WRONG_VALUES_H_
#define DTNN_MODELS_OBSERVE_REPORT_MISTAKES_WRONG_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "data/images/image.h"
#include "data/loading/loader.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct WrongValues {
  // An output, what the network said and what is true.
  struct Output {
    int64_t index = 0;
    double predicted = 0, truth = 0;
  };
  // The farthest off first. All labels that are wrong; of quantities the one that is farthest off.
  std::vector<Output> outputs = {};
  double score = 0;  // the larger the worse
  Image image = {};  // empty where the sample is none
};

class WrongValuesFinder {
 public:
  // `labels`: whether targets are labels.
  WrongValuesFinder(TensorFormat format, bool labels, size_t most = 12)
      : format_(format), labels_(labels), most_(most) {}

  void Clear() { samples_.clear(); }
  // Does nothing for targets that are classes; skips samples with predictions that are not finite.
  // ResourceExhausted without memory for an image.
  absl::Status Add(const Batch& batch, const Tensor& predictions);
  // The worst first.
  const std::vector<WrongValues>& samples() const { return samples_; }

 private:
  const TensorFormat format_;
  const bool labels_;
  const size_t most_;
  std::vector<WrongValues> samples_;
};

// Pictures with words below. `outputs` of the network; `names` of them, where they are known.
std::string FormatWrongValues(std::span<const WrongValues> samples, bool labels, int64_t outputs,
                              std::span<const std::string> names);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_MISTAKES_WRONG_VALUES_H_

// The images of an evaluation that the network was most certain of, and wrong.
//
// Looks at predictions as batches pass; only an image that is among the most certain ones so far is
// copied, so that it costs next to nothing. Images are shown as the network sees them, stretched
// from their smallest value to their largest, and small: every k-th pixel of larger ones.

#ifndef DTNN_MODELS_OBSERVE_REPORT_MISTAKES_WRONG_IMAGES_H_
#define DTNN_MODELS_OBSERVE_REPORT_MISTAKES_WRONG_IMAGES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "data/images/image.h"
#include "data/loading/loader.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct WrongImage {
  int64_t truth = 0, predicted = 0;
  double certainty = 0;  // the prediction, 0 to 1
  Image image = {};      // of 1 or 3 channels
};

class WrongImages {
 public:
  static constexpr int64_t kMostPixels = 64;  // of a side

  explicit WrongImages(TensorFormat format, size_t most = 12) : format_(format), most_(most) {}

  void Clear() { images_.clear(); }
  // Adds samples that are images; does nothing for other samples, for targets that are not classes
  // and for predictions that are not probabilities. ResourceExhausted without memory for an image.
  absl::Status Add(const Batch& batch, const Tensor& predictions);
  // The most certain first.
  const std::vector<WrongImage>& images() const { return images_; }

 private:
  TensorFormat format_;
  size_t most_;
  std::vector<WrongImage> images_;
};

// A picture with words below, without its frame; only the words where there is no picture.
std::string FormatFigure(const Image& image, std::string_view words);

// A row of pictures with words below.
std::string FormatWrongImages(std::span<const WrongImage> images,
                              std::span<const std::string> class_names);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_MISTAKES_WRONG_IMAGES_H_

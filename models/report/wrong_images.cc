#include "models/report/wrong_images.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "data/images/encode_png.h"
#include "models/report/charts/html.h"
#include "models/report/confusion.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// One sample as bytes.
template <typename T>
Image Thumbnail(const T* sample, const ImageExtents& extents, TensorFormat format) {
  const int64_t longest = std::max(extents.height, extents.width);
  const int64_t step = (longest + WrongImages::kMostPixels - 1) / WrongImages::kMostPixels;
  Image image = {.extents = {(extents.height + step - 1) / step, (extents.width + step - 1) / step,
                             extents.channels == 3 ? 3 : 1},
                 .pixels = {}};
  const auto at = [&](int64_t y, int64_t x, int64_t channel) {
    return double(format == TensorFormat::kNHWC
                      ? sample[(y * extents.width + x) * extents.channels + channel]
                      : sample[(channel * extents.height + y) * extents.width + x]);
  };
  std::vector<double> values;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (int64_t y = 0; y < extents.height; y += step) {
    for (int64_t x = 0; x < extents.width; x += step) {
      for (int64_t channel = 0; channel < image.extents.channels; ++channel) {
        const double value = at(y, x, channel);
        values.push_back(value);
        if (!std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
  }
  const double scale = high > low ? 255 / (high - low) : 0;
  for (const double value : values) {
    const double byte = std::isfinite(value) ? std::round((value - low) * scale) : 0;
    image.pixels.push_back(uint8_t(std::clamp(byte, 0.0, 255.0)));
  }
  return image;
}

std::string Figure(const WrongImage& wrong, std::span<const std::string> names) {
  const auto png = EncodePng(wrong.image);
  if (!png.ok()) return "";
  const std::string bytes(png->begin(), png->end());
  const std::string words = HtmlText(StrCat(
      "Looks like ", ClassLabel(wrong.predicted, names), " with ",
      absl::StrFormat("%.1f %%", 100 * wrong.certainty), ", is ", ClassLabel(wrong.truth, names)));
  return StrCat("<figure><img width=\"96\" height=\"96\" src=\"data:image/png;base64,",
                absl::Base64Escape(bytes), "\" alt=\"", words, "\"/><figcaption>", words,
                "</figcaption></figure>\n");
}

}  // namespace

void WrongImages::Add(const Tensor& x, const Tensor& predictions, const Tensor& targets) {
  if (targets.dtype() != DType::kInt32 || x.shape().rank() != 4 || !x.dense()) return;
  const int64_t classes = predictions.shape()[1];
  if (classes < 2) return;
  Shape sample{x.shape()[1], x.shape()[2], x.shape()[3]};
  const ImageExtents extents = ExtentsOf(sample, format_);
  DispatchFloating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < x.shape()[0]; ++i) {
      const T* p = predictions.data<T>() + i * predictions.RowPitch();
      const int64_t predicted = std::max_element(p, p + classes) - p;
      const int64_t truth = targets.data<int32_t>()[i];
      const double certainty = double(p[predicted]);
      if (predicted == truth || !(certainty >= 0 && certainty <= 1 + 1e-6)) continue;
      if (images_.size() == most_ && certainty <= images_.back().certainty) continue;
      if (images_.size() == most_) images_.pop_back();
      const auto place =
          std::ranges::upper_bound(images_, certainty, std::greater(), &WrongImage::certainty);
      images_.insert(
          place, {.truth = truth,
                  .predicted = predicted,
                  .certainty = certainty,
                  .image = Thumbnail(x.data<T>() + i * sample.NumElements(), extents, format_)});
    }
  });
}

std::string FormatWrongImages(std::span<const WrongImage> images,
                              std::span<const std::string> class_names) {
  std::string html = "<div class=\"images\">\n";
  for (const WrongImage& image : images) html += Figure(image, class_names);
  return html + "</div>\n";
}

}  // namespace dtnn

#include "models/observe/report/mistakes/wrong_images.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "data/images/encode_png.h"
#include "data/images/thumbnail.h"
#include "data/loading/batch_values.h"
#include "models/observe/report/charts/html.h"
#include "models/observe/report/mistakes/confusion.h"
#include "tensor/dtype.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

std::string Words(const WrongImage& wrong, std::span<const std::string> names) {
  return StrCat("Looks like ", ClassLabel(wrong.predicted, names), " with ",
                absl::StrFormat("%.1f %%", 100 * wrong.certainty), ", is ",
                ClassLabel(wrong.truth, names));
}

}  // namespace

absl::Status WrongImages::Add(const Batch& batch, const Tensor& predictions) {
  const bool images = batch.bytes != nullptr || HoldsImages(batch.x);
  if (batch.targets.dtype() != DType::kInt32 || !images) return absl::OkStatus();
  const int64_t classes = predictions.shape()[1];
  if (classes < 2) return absl::OkStatus();
  return DispatchFloating(predictions.dtype(), [&]<typename T>(T) -> absl::Status {
    for (int64_t i = 0; i < batch.x.shape()[0]; ++i) {
      const T* p = predictions.data<T>() + i * predictions.RowPitch();
      const int64_t predicted = std::max_element(p, p + classes) - p;
      const int64_t truth = batch.targets.data<int32_t>()[i];
      const double certainty = double(p[predicted]);
      if (predicted == truth || !(certainty >= 0 && certainty <= 1 + 1e-6)) continue;
      if (images_.size() == most_ && certainty <= images_.back().certainty) continue;
      DTNN_ASSIGN_OR_RETURN(const Tensor x, ValuesOf(batch, i, 1));
      if (images_.size() == most_) images_.pop_back();
      const auto place =
          std::ranges::upper_bound(images_, certainty, std::greater(), &WrongImage::certainty);
      images_.insert(place, {.truth = truth,
                             .predicted = predicted,
                             .certainty = certainty,
                             .image = Thumbnail(x, 0, format_, kMostPixels)});
    }
    return absl::OkStatus();
  });
}

std::string FormatFigure(const Image& image, std::string_view words) {
  const std::string text = HtmlText(words);
  std::string html = "<figure>";
  if (const auto png = EncodePng(image); !image.pixels.empty() && png.ok()) {
    const std::string bytes(png->begin(), png->end());
    StrAppend(&html, "<img width=\"96\" height=\"96\" src=\"data:image/png;base64,",
              absl::Base64Escape(bytes), "\" alt=\"", text, "\"/>");
  }
  return StrCat(html, "<figcaption>", text, "</figcaption></figure>\n");
}

std::string FormatWrongImages(std::span<const WrongImage> images,
                              std::span<const std::string> class_names) {
  std::string html = "<div class=\"images\">\n";
  for (const WrongImage& image : images) {
    html += FormatFigure(image.image, Words(image, class_names));
  }
  return html + "</div>\n";
}

}  // namespace dtnn

#include "data/datasets/arrays/array_dataset.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "data/class_warnings.h"
#include "data/images/image_bytes.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr int64_t kMaxClasses = int64_t{1} << 24;

template <typename From, typename T>
void CopySample(const From* from, TensorFormat from_format, const ImageExtents& extents,
                TensorFormat format, T* to) {
  const int64_t pixels = extents.height * extents.width, channels = extents.channels;
  if (from_format == format || channels == 1 || pixels == 1) {
    std::copy_n(from, pixels * channels, to);
    return;
  }
  const bool planes = format == TensorFormat::kNCHW;
  for (int64_t p = 0; p < pixels; ++p) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t plane = c * pixels + p, pixel = p * channels + c;
      to[planes ? plane : pixel] = T(from[planes ? pixel : plane]);
    }
  }
}

class ArrayDataset : public Dataset {
 public:
  ArrayDataset(SampleArrays train, SampleArrays test, ArrayOptions options, bool counted)
      : splits_{std::move(train), std::move(test)},
        options_(std::move(options)),
        counted_(counted) {}

  std::string_view name() const override { return options_.name; }
  ImageExtents sample() const override { return options_.sample; }
  int64_t outputs() const override { return options_.outputs; }
  TargetKind target_kind() const override { return options_.targets; }
  bool counts_classes() const override { return counted_; }
  std::vector<std::string> class_names() const override { return options_.class_names; }
  bool names_number_classes() const override { return false; }
  int64_t size(Split split) const override { return Of(split).size; }
  std::vector<int32_t> labels(Split split) const override {
    return options_.targets == TargetKind::kClass ? Of(split).classes : std::vector<int32_t>();
  }
  std::vector<std::string> warnings() const override { return ClassWarnings(*this); }
  Preprocessing preprocessing() const override {
    return {.input = bytes() ? Preprocessing::Input::kBytes : Preprocessing::Input::kValues,
            .geometry = ImageGeometry{}};
  }
  std::optional<TensorFormat> byte_format() const override {
    return bytes() ? std::optional(options_.format) : std::nullopt;
  }

  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    DTNN_RETURN_IF_ERROR(CheckRead(*this, split, indices, format, x, targets));
    const SampleArrays& from = Of(split);
    const size_t elements = size_t(ByteCount(options_.sample));
    const size_t outputs = size_t(options_.outputs);
    for (size_t row = 0; row < indices.size(); ++row) {
      const size_t index = size_t(indices[row]);
      if (bytes()) {
        const auto* image = static_cast<const uint8_t*>(from.x) + index * elements;
        PutImage({image, elements}, options_.format, options_.sample, format, x, int64_t(row));
      } else {
        DispatchFloating(x.dtype(), [&]<typename T>(T) {
          DispatchFloating(options_.dtype, [&]<typename From>(From) {
            CopySample(static_cast<const From*>(from.x) + index * elements, options_.format,
                       options_.sample, format, x.data<T>() + row * elements);
          });
        });
      }
      if (options_.targets != TargetKind::kValues) {
        const size_t each = from.classes.size() / size_t(from.size);
        std::copy_n(from.classes.data() + index * each, each, targets.data<int32_t>() + row * each);
      } else {
        DispatchFloating(targets.dtype(), [&]<typename T>(T) {
          std::copy_n(from.values.data() + index * outputs, outputs,
                      targets.data<T>() + row * outputs);
        });
      }
    }
    return absl::OkStatus();
  }

 private:
  bool bytes() const { return options_.dtype == DType::kUint8; }
  const SampleArrays& Of(Split split) const { return splits_[split == Split::kTrain ? 0 : 1]; }

  const SampleArrays splits_[2];
  const ArrayOptions options_;
  const bool counted_;
};

// Beyond float32 a value would become infinite in a batch.
template <typename T>
absl::Status CheckFinite(std::string_view name, std::span<const T> values, int64_t samples) {
  const double most = std::numeric_limits<float>::max();
  const auto bad =
      std::ranges::find_if(values, [&](T value) { return !(std::abs(double(value)) <= most); });
  if (bad == values.end()) return absl::OkStatus();
  const int64_t sample = (bad - values.begin()) / (int64_t(values.size()) / samples);
  return InvalidArgument(name, ": sample ", sample,
                         std::isfinite(*bad) ? " contains a value that float32 does not hold"
                                             : " contains NaN or an infinite value");
}

absl::Status CheckSplit(const SampleArrays& split, std::string_view name,
                        const ArrayOptions& options) {
  const std::string x = StrCat("x of ", name), y = StrCat("y of ", name);
  const bool classes = options.targets != TargetKind::kValues;
  const bool pixels = options.targets == TargetKind::kPixels;
  const int64_t each = pixels    ? options.sample.height * options.sample.width
                       : classes ? 1
                                 : options.outputs;
  const size_t targets = classes ? split.classes.size() : split.values.size();
  if (targets != size_t(split.size * each)) {
    return InvalidArgument(y, ": has ", targets, " targets; ", x, " has ", split.size,
                           " samples, with ", each, " each");
  }
  if (split.size == 0) return absl::OkStatus();
  const size_t elements = size_t(split.size) * size_t(ByteCount(options.sample));
  if (options.dtype == DType::kFloat32) {
    DTNN_RETURN_IF_ERROR(
        CheckFinite(x, std::span(static_cast<const float*>(split.x), elements), split.size));
  } else if (options.dtype == DType::kFloat64) {
    DTNN_RETURN_IF_ERROR(
        CheckFinite(x, std::span(static_cast<const double*>(split.x), elements), split.size));
  }
  const int64_t limit = options.outputs > 0 ? options.outputs : kMaxClasses;
  for (size_t i = 0; i < split.classes.size(); ++i) {
    if (split.classes[i] >= 0 && split.classes[i] < limit) continue;
    if (!pixels) {
      return InvalidArgument(y, ": the label of sample ", i, " is ", split.classes[i],
                             "; expected 0 to ", limit - 1);
    }
    if (split.classes[i] == kUnlabelledPixel) continue;
    const int64_t pixel = int64_t(i) % each, width = options.sample.width;
    return InvalidArgument(y, ": the label of the pixel in row ", pixel / width, " and column ",
                           pixel % width, " of sample ", int64_t(i) / each, " is ",
                           split.classes[i], "; expected 0 to ", limit - 1, ", or ",
                           kUnlabelledPixel, " for none");
  }
  return CheckFinite(y, std::span<const double>(split.values), split.size);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> MakeArrayDataset(SampleArrays train, SampleArrays test,
                                                          ArrayOptions options) {
  const auto& [height, width, channels] = options.sample;
  if (height < 1 || width < 1 || channels < 1) {
    return InvalidArgument("x: samples of ", ToString(options.sample),
                           "; expected at least 1 x 1 pixels and 1 channel");
  }
  if (options.dtype != DType::kUint8 && options.dtype != DType::kFloat32 &&
      options.dtype != DType::kFloat64) {
    return InvalidArgument("x: is ", Name(options.dtype), "; expected uint8, float32 or float64");
  }
  if (options.outputs < 0 || options.outputs > kMaxClasses ||
      (options.outputs == 0 && options.targets == TargetKind::kValues)) {
    return InvalidArgument("y: ", options.outputs, " outputs; expected 1 to ", kMaxClasses);
  }
  DTNN_RETURN_IF_ERROR(CheckSplit(train, "the training split", options));
  DTNN_RETURN_IF_ERROR(CheckSplit(test, "the test split", options));
  const bool counted = options.targets != TargetKind::kValues && options.outputs == 0;
  if (counted) {
    for (const SampleArrays* split : {&train, &test}) {
      for (const int32_t label : split->classes) {
        options.outputs = std::max<int64_t>(options.outputs, label + 1);
      }
    }
  }
  if (counted && options.outputs == 0 && train.size + test.size > 0) {
    return absl::InvalidArgumentError("y: no pixel has a label");
  }
  if (!options.class_names.empty() && int64_t(options.class_names.size()) != options.outputs) {
    return InvalidArgument("class names: ", options.class_names.size(), " for ", options.outputs,
                           " outputs; expected one each");
  }
  return std::make_unique<ArrayDataset>(std::move(train), std::move(test), std::move(options),
                                        counted);
}

}  // namespace dtnn

#include "data/datasets/npz_dataset.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "data/class_warnings.h"
#include "data/images/image_bytes.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"
#include "tensor/named_argument.h"
#include "tensor/shape.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

constexpr int64_t kMaxClasses = int64_t{1} << 24;

// One split, as the file has it.
struct Arrays {
  std::string x_name, y_name;  // "<file>: x_train"
  Tensor x, y;                 // empty where the split was left out

  int64_t size() const { return x.empty() ? 0 : x.shape()[0]; }
};

std::string Described(const std::string& name, const Tensor& array) {
  return StrCat(name, ": is ", Name(array.dtype()), " of shape ", array.shape().ToString());
}

// Calls f with a pointer to the elements.
template <typename F>
void Visit(const Tensor& array, F f) {
  switch (array.dtype()) {
    case DType::kFloat32:
      return f(array.data<float>());
    case DType::kFloat64:
      return f(array.data<double>());
    case DType::kUint8:
      return f(array.data<uint8_t>());
    case DType::kInt32:
      return f(array.data<int32_t>());
    case DType::kInt64:
      return f(array.data<int64_t>());
    case DType::kFloat16:
    case DType::kBfloat16:
      break;  // files of them are read as float32
  }
}

absl::Status CheckFinite(const std::string& name, const Tensor& array) {
  if (!IsFloating(array.dtype())) return absl::OkStatus();
  // Beyond float32 a value would become infinite in a batch.
  const double most = std::numeric_limits<float>::max();
  int64_t bad = array.num_elements();
  Visit(array, [&](const auto* values) {
    bad =
        std::find_if(values, values + bad, [&](auto v) { return !(std::abs(double(v)) <= most); }) -
        values;
  });
  if (bad == array.num_elements()) return absl::OkStatus();
  double value = 0;
  Visit(array, [&](const auto* values) { value = double(values[bad]); });
  const int64_t sample = bad / (array.num_elements() / array.shape()[0]);
  if (!std::isfinite(value)) {
    return InvalidArgument(name, ": sample ", sample, " contains NaN or an infinite value");
  }
  return InvalidArgument(name, ": sample ", sample, " contains the value ", value,
                         ", which is more than float32 holds; scale the data");
}

absl::StatusOr<Arrays> ReadPart(NpzReader& reader, std::string_view file, Split split) {
  Arrays arrays;
  const std::string ending = StrCat("_", Name(split));
  arrays.x_name = StrCat(file, ": x", ending);
  arrays.y_name = StrCat(file, ": y", ending);
  DTNN_ASSIGN_OR_RETURN(arrays.x, reader.Read("x" + ending));
  DTNN_ASSIGN_OR_RETURN(arrays.y, reader.Read("y" + ending));
  const Tensor& x = arrays.x;
  if (x.shape().rank() != 4 || x.num_elements() == 0 ||
      !(IsFloating(x.dtype()) || x.dtype() == DType::kUint8)) {
    return InvalidArgument(
        Described(arrays.x_name, x),
        "; expected (samples, channels, height, width) or (samples, height, width, "
        "channels) of float64, float32, float16 or uint8; convert others to float32");
  }
  const Shape& y = arrays.y.shape();
  if (y.rank() < 1 || y.rank() > 3 || y[0] != arrays.size() || arrays.y.num_elements() == 0) {
    return InvalidArgument(Described(arrays.y_name, arrays.y), "; expected (", arrays.size(),
                           ",), (", arrays.size(), ", outputs) or, of pixels, (", arrays.size(),
                           ", height, width), as ", arrays.x_name, " has ", arrays.size(),
                           " samples");
  }
  DTNN_RETURN_IF_ERROR(CheckFinite(arrays.x_name, arrays.x));
  DTNN_RETURN_IF_ERROR(CheckFinite(arrays.y_name, arrays.y));
  return arrays;
}

// The test split may be missing from a file that holds the training split.
absl::StatusOr<Arrays> ReadTestPart(NpzReader& reader, std::string_view file, bool required) {
  if (!required && !reader.Contains("x_test") && !reader.Contains("y_test")) return Arrays();
  return ReadPart(reader, file, Split::kTest);
}

bool IsOneHot(const Tensor& y) {
  if (y.empty()) return true;
  if (y.shape().rank() != 2 || y.shape()[1] < 2) return false;
  const int64_t columns = y.shape()[1];
  bool one_hot = true;
  Visit(y, [&](const auto* values) {
    for (int64_t i = 0; i < y.shape()[0] && one_hot; ++i) {
      const auto* row = values + i * columns;
      const int64_t ones = std::count(row, row + columns, 1);
      one_hot = ones == 1 && std::count(row, row + columns, 0) == columns - 1;
    }
  });
  return one_hot;
}

// What is to be predicted of a split, in the form that a batch has it.
struct Targets {
  std::vector<int32_t> classes;
  std::vector<double> values;
};

Targets FromOneHot(const Tensor& y) {
  Targets targets;
  if (y.empty()) return targets;
  const int64_t columns = y.shape()[1];
  Visit(y, [&](const auto* values) {
    for (int64_t i = 0; i < y.shape()[0]; ++i) {
      const auto* row = values + i * columns;
      targets.classes.push_back(int32_t(std::find(row, row + columns, 1) - row));
    }
  });
  return targets;
}

Targets FromValues(const Tensor& y) {
  Targets targets;
  if (y.empty()) return targets;
  Visit(y, [&](const auto* values) { targets.values.assign(values, values + y.num_elements()); });
  return targets;
}

// Integers below `limit`. Of pixels kUnlabelledPixel too, which bytes have as 255.
absl::StatusOr<Targets> FromLabels(const Arrays& arrays, int64_t limit) {
  Targets targets;
  if (arrays.y.empty()) return targets;
  const bool pixels = arrays.y.shape().rank() == 3;
  const bool bytes = arrays.y.dtype() == DType::kUint8;
  int64_t bad = -1, label = 0;
  Visit(arrays.y, [&](const auto* values) {
    for (int64_t i = 0; i < arrays.y.num_elements() && bad < 0; ++i) {
      label = int64_t(values[i]);
      if (pixels && bytes && label == 255) label = kUnlabelledPixel;
      const bool unlabelled = pixels && label == kUnlabelledPixel;
      if (!unlabelled && (label < 0 || label >= limit)) bad = i;
      targets.classes.push_back(int32_t(label));
    }
  });
  if (bad < 0) return targets;
  if (pixels) {
    const int64_t width = arrays.y.shape()[2], each = arrays.y.shape()[1] * width;
    return InvalidArgument(arrays.y_name, ": the label of the pixel in row ", bad % each / width,
                           " and column ", bad % width, " of sample ", bad / each, " is ", label,
                           "; expected 0 to ", limit - 1, ", or ", kUnlabelledPixel, " for none");
  }
  return InvalidArgument(arrays.y_name, ": the label of sample ", bad, " is ", label,
                         "; expected 0 to ", limit - 1);
}

// Numbers that happen to be integers, such as identifiers, would make a layer of millions of
// outputs.
absl::Status CheckClasses(const Arrays& arrays, int64_t classes,
                          std::initializer_list<const Targets*> splits) {
  constexpr int64_t kAlwaysFine = 4096, kLeastShare = 16;
  if (classes <= kAlwaysFine) return absl::OkStatus();
  std::vector<int32_t> used;
  for (const Targets* targets : splits) {
    used.insert(used.end(), targets->classes.begin(), targets->classes.end());
  }
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  if (int64_t(used.size()) >= classes / kLeastShare) return absl::OkStatus();
  std::string some;
  for (size_t i = 0; i < std::min<size_t>(used.size(), 4); ++i) {
    StrAppend(&some, i == 0 ? "" : ", ", used[i]);
  }
  return InvalidArgument(arrays.y_name, ": its labels (", some, used.size() > 4 ? ", ..." : "",
                         ") would make ", classes, " classes, of which ", used.size(),
                         used.size() == 1 ? " has" : " have",
                         " samples; number the classes from 0 without gaps (numpy.unique(y, "
                         "return_inverse=True)), or save measured values as float32");
}

// How x is laid out; InvalidArgument where its shape could mean both.
absl::StatusOr<TensorFormat> FormatOf(const Arrays& arrays) {
  const auto like_channels = [](int64_t n) { return n == 1 || n == 3 || n == 4; };
  const Shape& x = arrays.x.shape();
  const bool first = like_channels(x[1]), last = like_channels(x[3]);
  if (!last || x[1] == 1 || (first && (x[2] == 1 || x[3] == 1))) return TensorFormat::kNCHW;
  if (!first && x[1] == x[2]) return TensorFormat::kNHWC;
  return NamingArgument(InvalidArgument(Described(arrays.x_name, arrays.x), ", which could be ",
                                        x[1], " channels of ", x[2], " x ", x[3], " or images of ",
                                        x[1], " x ", x[2], " with ", Counted(x[3], "channel"),
                                        "; choose NCHW or NHWC by NpzOptions::format"),
                        "NpzOptions::format");
}

// Images of (height, width, channels) become (channels, height, width), where they are.
void PutChannelsFirst(const Tensor& images) {
  const Shape& shape = images.shape();
  const int64_t pixels = shape[1] * shape[2], channels = shape[3];
  Visit(images, [&](auto* values) {
    using T = std::remove_pointer_t<decltype(values)>;
    std::vector<T> image(size_t(pixels * channels));
    for (int64_t i = 0; i < shape[0]; ++i) {
      T* const to = values + i * pixels * channels;
      std::copy_n(to, image.size(), image.data());
      for (int64_t p = 0; p < pixels; ++p) {
        for (int64_t c = 0; c < channels; ++c) to[c * pixels + p] = image[size_t(p * channels + c)];
      }
    }
  });
}

// Planes of channels to `format`.
template <typename From, typename T>
void CopyImage(const From* from, const ImageExtents& extents, TensorFormat format, T* to) {
  const int64_t pixels = extents.height * extents.width;
  if (format == TensorFormat::kNCHW || extents.channels == 1) {
    std::copy_n(from, pixels * extents.channels, to);
    return;
  }
  for (int64_t c = 0; c < extents.channels; ++c) {
    for (int64_t p = 0; p < pixels; ++p) to[p * extents.channels + c] = T(from[c * pixels + p]);
  }
}

class NpzDataset : public Dataset {
 public:
  NpzDataset(ImageExtents sample, TargetKind kind, int64_t outputs, bool counted, Tensor x_train,
             Tensor x_test, Targets train, Targets test)
      : sample_(sample),
        kind_(kind),
        outputs_(outputs),
        counted_(counted),
        x_train_(std::move(x_train)),
        x_test_(std::move(x_test)),
        train_(std::move(train)),
        test_(std::move(test)) {}

  std::string_view name() const override { return "archive"; }
  ImageExtents sample() const override { return sample_; }
  int64_t outputs() const override { return outputs_; }
  TargetKind target_kind() const override { return kind_; }
  bool counts_classes() const override { return counted_; }
  std::vector<int32_t> labels(Split split) const override {
    if (kind_ != TargetKind::kClass) return {};
    return split == Split::kTrain ? train_.classes : test_.classes;
  }
  std::vector<std::string> warnings() const override { return ClassWarnings(*this); }
  Preprocessing preprocessing() const override {
    const Tensor& x = x_train_.empty() ? x_test_ : x_train_;
    return {.input = x.dtype() == DType::kUint8 ? Preprocessing::Input::kBytes
                                                : Preprocessing::Input::kValues,
            .geometry = ImageGeometry{}};
  }
  std::optional<TensorFormat> byte_format() const override {
    if (preprocessing().input != Preprocessing::Input::kBytes) return std::nullopt;
    return TensorFormat::kNCHW;
  }
  int64_t size(Split split) const override {
    const Tensor& x = split == Split::kTrain ? x_train_ : x_test_;
    return x.empty() ? 0 : x.shape()[0];
  }

  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    DTNN_RETURN_IF_ERROR(CheckRead(*this, split, indices, format, x, targets));
    const Tensor& source = split == Split::kTrain ? x_train_ : x_test_;
    const Targets& known = split == Split::kTrain ? train_ : test_;
    const int64_t elements = ByteCount(sample_);
    for (int64_t i = 0; i < int64_t(indices.size()); ++i) {
      const int64_t index = indices[size_t(i)];
      if (source.dtype() == DType::kUint8) {
        const uint8_t* from = source.data<uint8_t>() + index * elements;
        PutImage({from, size_t(elements)}, TensorFormat::kNCHW, sample_, format, x, i);
      } else {
        DispatchFloating(x.dtype(), [&]<typename T>(T) {
          DispatchFloating(source.dtype(), [&]<typename From>(From) {
            CopyImage(source.data<From>() + index * elements, sample_, format,
                      x.data<T>() + i * elements);
          });
        });
      }
      if (kind_ != TargetKind::kValues) {
        const int64_t each = kind_ == TargetKind::kPixels ? sample_.height * sample_.width : 1;
        std::copy_n(known.classes.data() + index * each, each, targets.data<int32_t>() + i * each);
        continue;
      }
      DispatchFloating(targets.dtype(), [&]<typename T>(T) {
        std::copy_n(known.values.data() + index * outputs_, outputs_,
                    targets.data<T>() + i * outputs_);
      });
    }
    return absl::OkStatus();
  }

 private:
  const ImageExtents sample_;
  const TargetKind kind_;
  const int64_t outputs_;
  const bool counted_;  // the classes
  const Tensor x_train_, x_test_;
  const Targets train_, test_;
};

// Both parts must be alike but for the number of samples.
absl::Status CheckAlike(const Arrays& train, const Arrays& test) {
  if (train.x.empty() || test.x.empty()) return absl::OkStatus();
  const auto differ = [](const std::string& a_name, const Tensor& a, const std::string& b_name,
                         const Tensor& b) {
    return InvalidArgument(Described(b_name, b), " but ", Described(a_name, a),
                           "; both splits must have the same form");
  };
  // Bytes are used as byte / 255, other numbers as they are.
  if (train.x.shape().DropFirst() != test.x.shape().DropFirst() ||
      IsFloating(train.x.dtype()) != IsFloating(test.x.dtype())) {
    return differ(train.x_name, train.x, test.x_name, test.x);
  }
  if (train.y.shape().rank() != test.y.shape().rank() ||
      train.y.shape().DropFirst() != test.y.shape().DropFirst() ||
      IsFloating(train.y.dtype()) != IsFloating(test.y.dtype())) {
    return differ(train.y_name, train.y, test.y_name, test.y);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Dataset>> Make(Arrays train, Arrays test,
                                              const NpzOptions& options) {
  DTNN_RETURN_IF_ERROR(CheckAlike(train, test));
  const Arrays& any = train.x.empty() ? test : train;
  TensorFormat format = TensorFormat::kNCHW;
  if (options.format.has_value()) {
    format = *options.format;
  } else {
    DTNN_ASSIGN_OR_RETURN(format, FormatOf(any));
  }
  const Shape y = any.y.shape();
  const ImageExtents sample = ExtentsOf(any.x.shape().DropFirst(), format);
  if (format == TensorFormat::kNHWC) {
    for (const Tensor* x : {&train.x, &test.x}) {
      if (!x->empty()) PutChannelsFirst(*x);
    }
  }
  TargetKind kind = TargetKind::kClass;
  int64_t outputs = y.rank() == 2 ? y[1] : 1;
  bool counted = false;
  Targets of_train, of_test;
  if (y.rank() == 3) {
    kind = TargetKind::kPixels;
    if (IsFloating(any.y.dtype()) || y[1] != sample.height || y[2] != sample.width) {
      return InvalidArgument(Described(any.y_name, any.y), "; expected integers, a class for each ",
                             "of ", sample.height, " x ", sample.width, " pixels");
    }
  }
  if (outputs == 1 && !IsFloating(any.y.dtype())) {
    const int64_t limit = options.classes > 0 ? options.classes : kMaxClasses;
    DTNN_ASSIGN_OR_RETURN(of_train, FromLabels(train, limit));
    DTNN_ASSIGN_OR_RETURN(of_test, FromLabels(test, limit));
    outputs = options.classes;
    counted = options.classes == 0;
    for (const Targets* targets : {&of_train, &of_test}) {
      for (int32_t label : targets->classes) outputs = std::max<int64_t>(outputs, label + 1);
    }
    if (outputs == 0) return InvalidArgument(any.y_name, ": no pixel has a label");
    if (counted) DTNN_RETURN_IF_ERROR(CheckClasses(any, outputs, {&of_train, &of_test}));
  } else if (IsOneHot(train.y) && IsOneHot(test.y)) {
    of_train = FromOneHot(train.y);
    of_test = FromOneHot(test.y);
  } else {
    kind = TargetKind::kValues;
    of_train = FromValues(train.y);
    of_test = FromValues(test.y);
  }
  return std::make_unique<NpzDataset>(sample, kind, outputs, counted, std::move(train.x),
                                      std::move(test.x), std::move(of_train), std::move(of_test));
}

absl::Status CheckOptions(const NpzOptions& options) {
  if (options.classes >= 0 && options.classes <= kMaxClasses) return absl::OkStatus();
  return InvalidArgument("archive: the number of classes must be 0 to ", kMaxClasses, ", not ",
                         options.classes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> LoadNpzDataset(const NpzPaths& paths,
                                                        const NpzOptions& options) {
  DTNN_RETURN_IF_ERROR(CheckOptions(options));
  if (paths.train.empty() && paths.test.empty()) {
    return absl::InvalidArgumentError("archive: no .npz file was given");
  }
  for (const std::string& path : {paths.train, paths.test}) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) continue;
    return InvalidArgument(path,
                           ": is a folder; expected one .npz file of the arrays x_train, y_train, "
                           "x_test and y_test");
  }
  Arrays train, test;
  if (!paths.train.empty()) {
    DTNN_ASSIGN_OR_RETURN(NpzReader reader, NpzReader::Open(paths.train, options.max_bytes));
    DTNN_ASSIGN_OR_RETURN(train, ReadPart(reader, paths.train, Split::kTrain));
    if (paths.test == paths.train) {
      DTNN_ASSIGN_OR_RETURN(test, ReadTestPart(reader, paths.test, false));
    }
  }
  if (!paths.test.empty() && paths.test != paths.train) {
    DTNN_ASSIGN_OR_RETURN(NpzReader reader, NpzReader::Open(paths.test, options.max_bytes));
    DTNN_ASSIGN_OR_RETURN(test, ReadTestPart(reader, paths.test, true));
  }
  return Make(std::move(train), std::move(test), options);
}

absl::StatusOr<std::unique_ptr<Dataset>> ParseNpzDataset(std::span<const std::byte> bytes,
                                                         std::string_view name,
                                                         const NpzOptions& options) {
  DTNN_RETURN_IF_ERROR(CheckOptions(options));
  DTNN_ASSIGN_OR_RETURN(NpzReader reader, NpzReader::Parse(bytes, name, options.max_bytes));
  DTNN_ASSIGN_OR_RETURN(Arrays train, ReadPart(reader, name, Split::kTrain));
  DTNN_ASSIGN_OR_RETURN(Arrays test, ReadTestPart(reader, name, false));
  return Make(std::move(train), std::move(test), options);
}

}  // namespace dtnn

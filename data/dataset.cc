#include "data/dataset.h"

#include "tensor/dtype.h"
#include "tensor/errors.h"
#include "tensor/shape.h"

namespace dtnn {
namespace {

std::string Called(const Dataset& dataset, Split split) {
  return StrCat(dataset.name(), " (", Name(split), " split)");
}

}  // namespace

Shape TargetShape(const Dataset& dataset, int64_t n) {
  switch (dataset.target_kind()) {
    case TargetKind::kClass:
      return Shape{n};
    case TargetKind::kPixels:
      return Shape{n, dataset.sample().height, dataset.sample().width};
    case TargetKind::kValues:
      break;
  }
  return Shape{n, dataset.outputs()};
}

DType TargetDType(const Dataset& dataset, DType dtype) {
  return dataset.target_kind() == TargetKind::kValues ? dtype : DType::kInt32;
}

absl::Status CheckRead(const Dataset& dataset, Split split, std::span<const int64_t> indices,
                       TensorFormat format, const Tensor& x, const Tensor& targets) {
  const int64_t count = int64_t(indices.size());
  const Shape expected = SampleShape(dataset.sample(), format).Prepend(count);
  const bool takes_bytes = dataset.byte_format() == format;
  const bool bytes = takes_bytes && !x.empty() && x.dtype() == DType::kUint8;
  if (x.empty() || !(bytes || IsFloating(x.dtype())) || x.shape() != expected) {
    return InvalidArgument(
        Called(dataset, split), ": ", count, " samples need a float32",
        takes_bytes ? ", float64 or uint8" : " or float64", " tensor of shape ",
        expected.ToString(), ", not ",
        x.empty() ? "an empty one" : StrCat(Name(x.dtype()), " ", x.shape().ToString()));
  }
  if (!x.dense() || !x.buffer()->host_accessible()) {
    return InvalidArgument(Called(dataset, split),
                           ": samples can be read into dense host memory only");
  }
  const Shape target_shape = TargetShape(dataset, count);
  const bool any_type = bytes && !targets.empty() && IsFloating(targets.dtype());
  const DType target_dtype = TargetDType(dataset, any_type ? targets.dtype()
                                                  : bytes  ? DType::kFloat32
                                                           : x.dtype());
  if (targets.empty() || targets.shape() != target_shape || targets.dtype() != target_dtype ||
      !targets.dense() || !targets.buffer()->host_accessible()) {
    return InvalidArgument(Called(dataset, split), ": ", count, " samples need targets of shape ",
                           target_shape.ToString(), " and type ", Name(target_dtype),
                           " in dense host memory");
  }
  const int64_t size = dataset.size(split);
  for (int64_t index : indices) {
    if (index < 0 || index >= size) {
      return absl::OutOfRangeError(
          StrCat(Called(dataset, split), ": there is no sample ", index, " among ", size));
    }
  }
  return absl::OkStatus();
}

}  // namespace dtnn

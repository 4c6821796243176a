#include "tools/testing/tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "tensor/philox.h"

namespace dtnn::testing {
namespace {

void Set(const Tensor& tensor, int64_t i, double value) {
  switch (tensor.dtype()) {
    case DType::kFloat32:
      tensor.data<float>()[i] = float(value);
      break;
    case DType::kFloat64:
      tensor.data<double>()[i] = value;
      break;
    case DType::kUint8:
      tensor.data<uint8_t>()[i] = uint8_t(value);
      break;
    case DType::kInt32:
      tensor.data<int32_t>()[i] = int32_t(value);
      break;
    case DType::kInt64:
      tensor.data<int64_t>()[i] = int64_t(value);
      break;
    case DType::kFloat16:
      tensor.data<Float16>()[i] = Float16(value);
      break;
    case DType::kBfloat16:
      tensor.data<Bfloat16>()[i] = Bfloat16(value);
      break;
  }
}

double Get(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kFloat32:
      return tensor.data<float>()[i];
    case DType::kFloat64:
      return tensor.data<double>()[i];
    case DType::kUint8:
      return tensor.data<uint8_t>()[i];
    case DType::kInt32:
      return tensor.data<int32_t>()[i];
    case DType::kInt64:
      return double(tensor.data<int64_t>()[i]);
    case DType::kFloat16:
      return double(tensor.data<Float16>()[i]);
    case DType::kBfloat16:
      return double(tensor.data<Bfloat16>()[i]);
  }
  return 0;
}

// Calls f(offset of the element in the view, number in row-major order) for every element.
template <typename F>
void ForEach(const Tensor& tensor, TensorFormat format, F&& f) {
  const Shape& shape = tensor.shape();
  int64_t columns = tensor.num_elements(), pitch = columns;
  if (!tensor.dense()) {
    const bool images = shape.rank() == 4 && format == TensorFormat::kNCHW;
    columns = images ? shape.DropFirst().NumElements() : shape[shape.rank() - 1];
    pitch = images ? tensor.ImagePitch() : tensor.PixelPitch();
  }
  for (int64_t i = 0; i < tensor.num_elements(); ++i) f(i / columns * pitch + i % columns, i);
}

}  // namespace

Tensor ZeroTensor(DType dtype, const Shape& shape) {
  Tensor tensor = FencedTensor(dtype, shape);
  std::memset(tensor.raw_data(), 0, size_t(tensor.num_elements()) * SizeOf(dtype));
  return tensor;
}

Tensor IntegerTensor(DType dtype, const Shape& shape, uint64_t seed, int range) {
  Tensor tensor = ZeroTensor(dtype, shape);
  const Philox random(seed, StreamId(RandomPurpose::kTest));
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    Set(tensor, i, double(random.Below(uint64_t(i), uint32_t(2 * range + 1))) - range);
  }
  return tensor;
}

Tensor RandomTensor(DType dtype, const Shape& shape, uint64_t seed) {
  Tensor tensor = ZeroTensor(dtype, shape);
  const Philox random(seed, StreamId(RandomPurpose::kTest));
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    Set(tensor, i, 2 * random.Uniform(uint64_t(i)) - 1);
  }
  return tensor;
}

Tensor TensorOf(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor tensor = ZeroTensor(dtype, shape);
  EXPECT_EQ(tensor.num_elements(), int64_t(values.size()));
  for (size_t i = 0; i < values.size(); ++i) Set(tensor, int64_t(i), values[i]);
  return tensor;
}

Tensor OnesTensor(DType dtype, const Shape& shape) {
  return TensorOf(dtype, shape, std::vector<double>(size_t(shape.NumElements()), 1));
}

Tensor NaNTensor(DType dtype, const Shape& shape) {
  const Tensor tensor = OnesTensor(dtype, shape);
  const int64_t last = tensor.num_elements() - 1;
  for (const int64_t i : {int64_t{0}, last / 2, last}) {
    Set(tensor, i, std::numeric_limits<double>::quiet_NaN());
  }
  return tensor;
}

Tensor Pitched(const Tensor& dense, TensorFormat format, Fence fence) {
  Tensor view = FencedPitched(dense.dtype(), dense.shape(), format, fence);
  ForEach(view, format, [&](int64_t at, int64_t i) { Set(view, at, Get(dense, i)); });
  return view;
}

std::vector<double> Values(const Tensor& tensor, TensorFormat format) {
  std::vector<double> values(size_t(tensor.num_elements()));
  ForEach(tensor, format, [&](int64_t at, int64_t i) { values[size_t(i)] = Get(tensor, at); });
  return values;
}

::testing::AssertionResult Close(const std::vector<double>& actual,
                                 const std::vector<double>& expected, double absolute,
                                 double relative) {
  if (actual.size() != expected.size()) {
    return ::testing::AssertionFailure()
           << actual.size() << " elements, expected " << expected.size();
  }
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double excess = std::abs(actual[i] - expected[i]) - relative * std::abs(expected[i]);
    if (!(excess <= worst)) {  // a NaN is always the worst
      worst = excess;
      at = i;
      if (std::isnan(excess)) break;
    }
  }
  if (worst <= absolute) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "element " << at << " of " << actual.size() << " is " << actual[at] << ", expected "
         << expected[at] << " within " << absolute << " + " << relative << " * |expected|";
}

::testing::AssertionResult Close(const Tensor& actual, const Tensor& expected, double absolute,
                                 double relative, TensorFormat format) {
  return Close(Values(actual, format), Values(expected, format), absolute, relative);
}

bool HasNaN(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

::testing::AssertionResult KeepsNaN(const std::vector<double>& actual,
                                    const std::vector<double>& expected) {
  if (actual.size() != expected.size()) {
    return ::testing::AssertionFailure()
           << actual.size() << " elements, expected " << expected.size();
  }
  if (!HasNaN(expected)) return ::testing::AssertionFailure() << "no NaN is expected";
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i]) && !std::isnan(actual[i])) {
      return ::testing::AssertionFailure()
             << "element " << i << " of " << actual.size() << " is " << actual[i] << ", not NaN";
    }
  }
  return ::testing::AssertionSuccess();
}

double SumTolerance(DType dtype, int64_t terms) {
  const double epsilon = dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                                  : std::numeric_limits<double>::epsilon();
  return 4 * epsilon * (std::sqrt(double(terms)) + 1);
}

}  // namespace dtnn::testing

#include "models/onnx/shapes/numbers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/onnx/shapes/axes.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

absl::StatusOr<int64_t> Compute(std::string_view type, int64_t a, int64_t b) {
  if (type == "Equal") {
    if (IsOfBatch(a) == IsOfBatch(b)) return a == b;
    if ((IsOfBatch(a) ? b : a) < 1) return 0;  // a batch has a sample
  }
  if (IsOfBatch(a) || IsOfBatch(b)) {
    const int64_t times = TimesOf(IsOfBatch(a) ? a : b), other = IsOfBatch(a) ? b : a;
    if (type == "Mul" && other >= 1 && other <= kMostTimes / times) {
      return BatchExtent(times * other);
    }
    if (type == "Div" && other == b && other >= 1 && times % other == 0) {
      return BatchExtent(times / other);
    }
    return Unimplemented("computes with the size of the batch, which may be any");
  }
  const auto large = [](int64_t value) { return value < -kMostNumber || value > kMostNumber; };
  if (large(a) || large(b)) return InvalidArgument("has numbers above 2^40");
  int64_t result = 0;
  const bool known = (type == "Add" && !__builtin_add_overflow(a, b, &result)) ||
                     (type == "Sub" && !__builtin_sub_overflow(a, b, &result)) ||
                     (type == "Mul" && !__builtin_mul_overflow(a, b, &result));
  if (known && !large(result)) return result;
  if (type == "Div" && b != 0) return a / b;
  if (type == "Mod" && b != 0) return (a % b + b) % b;  // as large as b, with its sign
  if (type == "Pow") return Unimplemented("computes a power of whole numbers");
  return InvalidArgument("of ", a, " and ", b, " is not a number up to 2^40");
}

absl::StatusOr<float> Compute(std::string_view type, float a, float b) {
  if (type == "Add") return a + b;
  if (type == "Sub") return a - b;
  if (type == "Mul") return a * b;
  if (type == "Div") return a / b;
  if (type == "Pow") return std::pow(a, b);
  return Unimplemented("computes with real constants");
}

// The place of the element of `values` that stands at place `at` of a tensor of `dims`.
size_t Aligned(const TensorValues &values, const std::vector<int64_t> &dims, int64_t at) {
  int64_t place = 0, step = 1;
  for (size_t i = 1; i <= values.dims.size(); ++i) {
    const int64_t extent = dims[dims.size() - i], own = values.dims[values.dims.size() - i];
    if (own > 1) place += at % extent * step;
    at /= extent;
    step *= own;
  }
  return size_t(place);
}

absl::StatusOr<TensorValues> Broadcast(std::string_view type, const TensorValues &a,
                                       const TensorValues &b) {
  const size_t rank = std::max(a.dims.size(), b.dims.size());
  if (rank > kMostImageAxes) return Unimplemented("computes with constants of ", rank, " axes");
  TensorValues result;
  result.dims.resize(rank);
  for (size_t i = 1; i <= rank; ++i) {
    const int64_t of_a = i <= a.dims.size() ? a.dims[a.dims.size() - i] : 1,
                  of_b = i <= b.dims.size() ? b.dims[b.dims.size() - i] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      return InvalidArgument("has inputs of different sizes: ", a.ShapeText(), " and ",
                             b.ShapeText());
    }
    result.dims[rank - i] = of_a == 1 ? of_b : of_a;
  }
  DTNN_ASSIGN_OR_RETURN(const int64_t count, CountElements(result.dims));
  if (count > kMostNumbers) {
    return Unimplemented("computes ", count, " numbers, more than ", kMostNumbers);
  }
  const auto fill = [&](auto &to, const auto &of_a, const auto &of_b) -> absl::Status {
    to.resize(size_t(count));
    for (int64_t i = 0; i < count; ++i) {
      DTNN_ASSIGN_OR_RETURN(to[size_t(i)], Compute(type, of_a[Aligned(a, result.dims, i)],
                                                   of_b[Aligned(b, result.dims, i)]));
    }
    return absl::OkStatus();
  };
  if (a.real()) {
    result.type = a.type;
    DTNN_RETURN_IF_ERROR(fill(result.reals, a.reals, b.reals));
  } else {
    DTNN_RETURN_IF_ERROR(fill(result.integers, a.integers, b.integers));
  }
  return result;
}

}  // namespace

absl::StatusOr<WholeNumbers> Arithmetic(std::string_view type, const WholeNumbers &a,
                                        const WholeNumbers &b) {
  if (a.first.real() != b.first.real()) {
    return Unimplemented("computes with whole and real constants at once");
  }
  WholeNumbers result;
  DTNN_ASSIGN_OR_RETURN(result.first, Broadcast(type, a.first, b.first));
  if (a.step == 0 && b.step == 0) return result;
  const auto of_samples = [](WholeNumbers numbers) -> absl::StatusOr<WholeNumbers> {
    if (numbers.step != 0) return numbers;
    return Unimplemented("computes numbers that are the same for each sample of a batch");
  };
  for (const WholeNumbers *numbers : {&a, &b}) {
    const std::vector<int64_t> &dims = numbers->first.dims;
    const bool beside =
        dims.size() < result.first.dims.size() || (!dims.empty() && dims.front() == 1);
    if (numbers->step == 0 ? beside : dims.size() == result.first.dims.size()) {
      continue;
    }
    return Unimplemented("computes with numbers of each sample, and with others along their batch");
  }
  if (type == "Add" || type == "Sub") {
    DTNN_ASSIGN_OR_RETURN(result.step, Compute(type, a.step, b.step));
    return of_samples(std::move(result));
  }
  const WholeNumbers &numbers = a.step == 0 ? b : a, &factor = a.step == 0 ? a : b;
  if (type != "Mul" || factor.step != 0 || factor.first.integers.size() != 1) {
    return Unimplemented(
        "computes with numbers of each sample; they may be multiplied by one "
        "number, and others added");
  }
  DTNN_ASSIGN_OR_RETURN(result.step, Compute(type, numbers.step, factor.first.integers[0]));
  return of_samples(std::move(result));
}

absl::StatusOr<WholeNumbers> RangeOf(int64_t start, int64_t limit, int64_t step) {
  if (limit == kBatchExtent && start == 0 && step == 1) {
    return WholeNumbers{.first = TensorValues::OfIntegers({0}), .step = 1};
  }
  for (const int64_t number : {start, limit, step}) {
    DTNN_RETURN_IF_ERROR(Compute("Add", number, 0).status());
  }
  if (step == 0) return InvalidArgument("counts in steps of 0");
  const int64_t way = step > 0 ? limit - start : start - limit, each = step > 0 ? step : -step,
                count = way <= 0 ? 0 : (way + each - 1) / each;
  if (count > kMostNumbers) {
    return Unimplemented("counts ", count, " numbers, more than ", kMostNumbers);
  }
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(start + i * step);
  return WholeNumbers{.first = TensorValues::OfIntegers(std::move(numbers))};
}

}  // namespace dtnn

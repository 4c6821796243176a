// Random poolings against the references, with a fence beside every operand.

#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/pool/adaptive_pool.h"
#include "kernels/pool/adaptive_reference.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/reference.h"
#include "tools/testing/random_cases.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::RandomCase;
using testing::RandomCases;
using testing::Values;
using Doubles = std::vector<double>;

// For means of some hundred elements, and gradients to which so many windows add.
double Tolerance(DType dtype) {
  return 300 * (dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                         : std::numeric_limits<double>::epsilon());
}

PoolSpec RandomSpec(RandomCase& random) {
  const bool large = random.Seldom(10);
  const auto side = [&] { return random.Between(1, large ? 50 : 20); };
  const auto pair = [&](int64_t most) {
    const int64_t one = random.Between(1, most);
    return random.Flip() ? Pair(one) : Pair(one, random.Between(1, most));
  };
  for (;;) {
    PoolSpec spec = {.kind = random.Pick({PoolKind::kMax, PoolKind::kAverage}),
                     .batch = random.Between(1, 4),
                     .height = side(),
                     .width = side(),
                     .channels = random.Between(1, large ? 80 : 35),
                     .window = random.Seldom(12) ? pair(18) : pair(4),
                     .stride = pair(4),
                     .dilation = random.Seldom(3) ? pair(3) : Pair(1),
                     .format = random.Format(),
                     .dtype = random.Floating()};
    const auto padding = [&](int64_t window, int64_t dilation) {
      return random.Flip() ? 0 : random.Between(0, dilation * (window - 1));
    };
    spec.padding = {padding(spec.window.vertical, spec.dilation.vertical),
                    padding(spec.window.horizontal, spec.dilation.horizontal)};
    spec.ceil = random.Seldom(3);
    spec.count_padding = spec.kind == PoolKind::kAverage && random.Seldom(2);
    if (spec.Validate().ok()) return spec;
  }
}

Shape OfImages(const Shape& shape, int64_t images) { return shape.DropFirst().Prepend(images); }

TEST(RandomPoolTest, BothPassesEqualTheReference) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  for (RandomCases cases(300); RandomCase* random = cases.Next();) {
    const PoolSpec spec = RandomSpec(*random);
    random->Name(spec.ToString());
    random->SetThreads();
    const auto pool = *CreatePool(*context, spec);
    const int64_t images = random->Between(1, spec.batch);
    const Shape in = OfImages(spec.InputShape(), images);
    const Shape out = OfImages(spec.OutputShape(), images);
    const auto operand = [&](const Shape& shape) {
      return random->Operand(spec.dtype, shape, spec.format);
    };
    const auto of = [&](const Tensor& tensor) { return Values(tensor, spec.format); };

    const Tensor x = operand(in), y = operand(out);
    const bool max = spec.kind == PoolKind::kMax;
    const Tensor argmax =
        max && !random->Seldom(4) ? random->Dense(spec.ArgmaxDType(), out) : Tensor();
    Doubles expected(size_t(out.NumElements()));
    std::vector<int64_t> won(expected.size());
    reference::PoolForward(spec, images, of(x).data(), expected.data(), won.data());
    ASSERT_EQ(pool->Forward(x, y, argmax), absl::OkStatus());
    ASSERT_TRUE(Close(of(y), expected, max ? 0 : Tolerance(spec.dtype)));
    if (!argmax.empty()) {
      ASSERT_EQ(Values(argmax), Doubles(won.begin(), won.end()));
    }
    if (max && argmax.empty()) continue;

    const Tensor dy = operand(out), dx = operand(in);
    const bool accumulate = random->Flip();
    Doubles gradient = of(dx);
    reference::PoolBackward(spec, images, of(dy).data(), won.data(), gradient.data(), accumulate);
    ASSERT_EQ(pool->Backward(dy, argmax, dx, accumulate), absl::OkStatus());
    const double tolerance = max && random->integers() ? 0 : Tolerance(spec.dtype);
    ASSERT_TRUE(Close(of(dx), gradient, tolerance, Tolerance(spec.dtype)));
  }
}

TEST(RandomPoolTest, AdaptivePoolingEqualsTheReference) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  for (RandomCases cases(100); RandomCase* random = cases.Next();) {
    AdaptivePoolSpec spec = {.batch = random->Between(1, 4),
                             .height = random->Between(1, 20),
                             .width = random->Between(1, 20),
                             .channels = random->Between(1, 40),
                             .out_height = random->Between(1, 10),
                             .out_width = random->Between(1, 10),
                             .format = random->Format(),
                             .dtype = random->Floating()};
    random->Name(spec.ToString());
    random->SetThreads();
    const auto pool = *CreateAdaptivePool(*context, spec);
    spec.batch = random->Between(1, spec.batch);  // of the call
    const auto operand = [&](const Shape& shape) {
      return random->Operand(spec.dtype, shape, spec.format);
    };
    const auto of = [&](const Tensor& tensor) { return Values(tensor, spec.format); };

    const Tensor x = operand(spec.InputShape()), y = operand(spec.OutputShape());
    ASSERT_EQ(pool->Forward(x, y), absl::OkStatus());
    ASSERT_TRUE(Close(of(y), reference::AdaptivePoolForward(spec, of(x)), Tolerance(spec.dtype)));

    const Tensor dy = operand(spec.OutputShape()), dx = operand(spec.InputShape());
    const bool accumulate = random->Flip();
    Doubles expected = reference::AdaptivePoolBackward(spec, of(dy));
    const Doubles before = of(dx);
    for (size_t i = 0; i < before.size() && accumulate; ++i) expected[i] += before[i];
    ASSERT_EQ(pool->Backward(dy, dx, accumulate), absl::OkStatus());
    ASSERT_TRUE(Close(of(dx), expected, Tolerance(spec.dtype), Tolerance(spec.dtype)));
  }
}

}  // namespace
}  // namespace dtnn

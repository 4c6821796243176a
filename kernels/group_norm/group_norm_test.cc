#include "kernels/group_norm/group_norm.h"

#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/group_norm/reference.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::NaNTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::SumTolerance;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

struct Case {
  ImageExtents image;
  int64_t groups;
};
constexpr Case kCases[] = {
    {{1, 1, 1}, 1},  {{1, 1, 5}, 1},   {{2, 3, 6}, 3},   {{5, 4, 16}, 16}, {{3, 17, 33}, 1},
    {{4, 4, 34}, 2}, {{1, 2, 300}, 4}, {{21, 30, 3}, 1}, {{17, 16, 8}, 2},
};
constexpr int64_t kBatch = 3;

class GroupNormTest
    : public ::testing::TestWithParam<std::tuple<TensorFormat, DType, /*per_pixel=*/bool>> {
 protected:
  TensorFormat format() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  bool per_pixel() const { return std::get<2>(GetParam()); }
  Shape Of(const ImageExtents& image) const { return SampleShape(image, format()).Prepend(kBatch); }
  GroupNormSpec SpecOf(const Case& c) const {
    return {.batch = kBatch,
            .positions = c.image.height * c.image.width,
            .channels = c.image.channels,
            .groups = c.groups,
            .per_pixel = per_pixel(),
            .format = format(),
            .dtype = dtype(),
            .epsilon = 1e-3};
  }
  reference::GroupNorm ReferenceOf(const Case& c) const {
    return {size_t(kBatch),
            size_t(c.image.height * c.image.width),
            size_t(c.image.channels),
            size_t(c.groups),
            per_pixel(),
            format() == TensorFormat::kNCHW,
            1e-3};
  }
  Doubles ValuesOf(const Tensor& tensor) const { return Values(tensor, format()); }
  std::unique_ptr<GroupNorm> Create(const GroupNormSpec& spec) const {
    return *CreateGroupNorm(*context_, spec);
  }

  struct Operands {
    Tensor x, dy, y, dx, gamma, beta, dgamma, dbeta;
  };
  Operands Make(const Case& c, bool pitched) const {
    const auto image = [&](uint64_t seed) {
      const Tensor dense = RandomTensor(dtype(), Of(c.image), seed);
      return pitched ? Pitched(dense, format()) : dense;
    };
    const auto vector = [&](uint64_t seed) {
      return RandomTensor(WideOf(dtype()), {c.image.channels}, seed);
    };
    return {image(1), image(2), image(3), image(4), vector(5), vector(6), vector(7), vector(8)};
  }
  absl::Status Backward(GroupNorm& norm, const Operands& o, bool accumulate) {
    // NaNs, since nobody promises zeros.
    std::vector<std::byte> workspace(norm.workspace_bytes() + 64, std::byte{0xff});
    void* aligned = workspace.data();
    size_t space = workspace.size();
    std::align(64, norm.workspace_bytes(), aligned, space);
    return norm.Backward(o.x, o.dy, o.gamma, o.dx, accumulate, o.dgamma, o.dbeta,
                         {static_cast<std::byte*>(aligned), norm.workspace_bytes()});
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(GroupNormTest, EqualsItsReference) {
  for (const Case& c : kCases) {
    for (const bool pitched : {false, true}) {
      for (const bool accumulate : {false, true}) {
        SCOPED_TRACE(ToString(c.image) + (pitched ? " pitched" : ""));
        const Operands o = Make(c, pitched);
        const reference::GroupNorm expected = ReferenceOf(c);
        const auto norm = Create(SpecOf(c));
        const Doubles x = ValuesOf(o.x), before = ValuesOf(o.dx);
        ASSERT_EQ(norm->Forward(o.x, o.gamma, o.beta, o.y), absl::OkStatus());
        // Differences from a mean that rounds are divided by a deviation of 0.03 at least.
        const int64_t terms = c.image.height * c.image.width * c.image.channels;
        const double tolerance = 40 * SumTolerance(WideOf(dtype()), terms);
        // Images of 16 bits are rounded once.
        const double rounding = dtype() == DType::kBfloat16 ? 0x1p-8 : 0;
        EXPECT_TRUE(Close(ValuesOf(o.y), expected.Forward(x, Values(o.gamma), Values(o.beta)),
                          tolerance, rounding));
        Doubles dgamma, dbeta;
        Doubles dx = expected.Backward(x, ValuesOf(o.dy), Values(o.gamma), dgamma, dbeta);
        for (size_t i = 0; i < dx.size() && accumulate; ++i) dx[i] += before[i];
        ASSERT_EQ(Backward(*norm, o, accumulate), absl::OkStatus());
        EXPECT_TRUE(Close(ValuesOf(o.dx), dx, 8 * tolerance, rounding));
        EXPECT_TRUE(Close(Values(o.dgamma), dgamma, kBatch * tolerance, tolerance));
        EXPECT_TRUE(Close(Values(o.dbeta), dbeta, kBatch * tolerance, tolerance));
      }
    }
  }
}

// Sums over many pixels whose terms have one sign: in one chain they would be off by 6e-4.
TEST_P(GroupNormTest, GradientsOfManyPixelsAreNoLongChains) {
  const Case c = {{256, 256, 2}, 1};
  Operands o = Make(c, false);
  o.dx = Tensor();
  const Doubles signs = {1, -1};
  const double z = 1 / std::sqrt(1.001);
  Doubles x(size_t(o.x.num_elements()));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = signs[format() == TensorFormat::kNCHW ? i / (256 * 256) % 2 : i % 2];
  }
  o.x = TensorOf(dtype(), o.x.shape(), x);
  o.dy = TensorOf(dtype(), o.dy.shape(), Doubles(x.size(), 0.1));
  const double sum = ValuesOf(o.dy)[0] * double(x.size()) / 2;
  ASSERT_EQ(Backward(*Create(SpecOf(c)), o, false), absl::OkStatus());
  for (size_t channel = 0; channel < 2; ++channel) {
    EXPECT_NEAR(Values(o.dbeta)[channel] / sum, 1, 1e-5);
    EXPECT_NEAR(Values(o.dgamma)[channel] / sum, signs[channel] * z, 1e-5);
  }
}

// Constant images have no deviation: y is beta.
TEST_P(GroupNormTest, AConstantBecomesBeta) {
  const Case c = {{3, 3, 4}, 2};
  Operands o = Make(c, false);
  o.x = testing::OnesTensor(dtype(), Of(c.image));
  ASSERT_EQ(Create(SpecOf(c))->Forward(o.x, o.gamma, o.beta, o.y), absl::OkStatus());
  const Doubles y = ValuesOf(o.y), beta = Values(o.beta);
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t channel = format() == TensorFormat::kNCHW ? i / 9 % 4 : i % 4;
    EXPECT_NEAR(y[i], beta[channel], dtype() == DType::kBfloat16 ? 0x1p-8 : 1e-6);
  }
}

TEST_P(GroupNormTest, WorksInPlaceAndForFewerImages) {
  const Case c = {{3, 5, 12}, 3};
  const auto norm = Create(SpecOf(c));
  const Operands o = Make(c, false);
  ASSERT_EQ(norm->Forward(o.x, o.gamma, o.beta, o.y), absl::OkStatus());
  ASSERT_EQ(Backward(*norm, o, false), absl::OkStatus());
  Operands in_place = Make(c, false);
  in_place.dx = in_place.dy;
  ASSERT_EQ(Backward(*norm, in_place, false), absl::OkStatus());
  EXPECT_EQ(ValuesOf(in_place.dx), ValuesOf(o.dx));
  EXPECT_EQ(Values(in_place.dgamma), Values(o.dgamma));
  const Tensor two = in_place.x.Samples(0, 2, format());
  ASSERT_EQ(norm->Forward(two, o.gamma, o.beta, two), absl::OkStatus());
  EXPECT_EQ(ValuesOf(two), ValuesOf(o.y.Samples(0, 2, format())));
}

TEST_P(GroupNormTest, GradientsOfASmallerBatchAreThoseOfItsImages) {
  const Case c = {{3, 5, 12}, 3};
  GroupNormSpec of_two = SpecOf(c);
  of_two.batch = 2;
  std::vector<Operands> results;
  for (const GroupNormSpec& spec : {SpecOf(c), of_two}) {
    Operands o = Make(c, false);
    for (Tensor* const images : {&o.x, &o.dy, &o.y, &o.dx}) {
      *images = images->Samples(0, 2, format());
    }
    ASSERT_EQ(Backward(*Create(spec), o, false), absl::OkStatus());
    results.push_back(o);
  }
  EXPECT_EQ(ValuesOf(results[0].dx), ValuesOf(results[1].dx));
  EXPECT_EQ(Values(results[0].dgamma), Values(results[1].dgamma));
  EXPECT_EQ(Values(results[0].dbeta), Values(results[1].dbeta));
}

TEST_P(GroupNormTest, SameBitsOnAnyNumberOfThreads) {
  const Case c = {{17, 16, 24}, 4};
  std::vector<Doubles> first;
  for (const int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    const Operands o = Make(c, false);
    const auto norm = Create(SpecOf(c));
    ASSERT_EQ(norm->Forward(o.x, o.gamma, o.beta, o.y), absl::OkStatus());
    ASSERT_EQ(Backward(*norm, o, false), absl::OkStatus());
    const std::vector<Doubles> all = {ValuesOf(o.y), ValuesOf(o.dx), Values(o.dgamma),
                                      Values(o.dbeta)};
    if (first.empty()) first = all;
    EXPECT_EQ(all, first) << threads << " threads";
  }
}

TEST_P(GroupNormTest, WhatIsNotWantedIsLeftOut) {
  const Case c = {{3, 5, 12}, 3};
  const auto norm = Create(SpecOf(c));
  const Operands o = Make(c, false);
  ASSERT_EQ(Backward(*norm, o, false), absl::OkStatus());
  Operands only_dx = Make(c, false), only_vectors = Make(c, false);
  only_dx.dgamma = only_dx.dbeta = Tensor();
  only_vectors.dx = Tensor();
  ASSERT_EQ(Backward(*norm, only_dx, false), absl::OkStatus());
  ASSERT_EQ(Backward(*norm, only_vectors, false), absl::OkStatus());
  EXPECT_EQ(ValuesOf(only_dx.dx), ValuesOf(o.dx));
  EXPECT_EQ(Values(only_vectors.dgamma), Values(o.dgamma));
  EXPECT_EQ(Values(only_vectors.dbeta), Values(o.dbeta));
}

TEST_P(GroupNormTest, NaNInAnyOperandComesOut) {
  const Case c = {{3, 3, 4}, 2};
  const auto norm = Create(SpecOf(c));
  for (int operand = 0; operand < 3; ++operand) {
    Operands o = Make(c, false);
    Tensor& poisoned = operand == 0 ? o.x : operand == 1 ? o.gamma : o.beta;
    poisoned = NaNTensor(poisoned.dtype(), poisoned.shape());
    const Doubles before = ValuesOf(o.x);
    ASSERT_EQ(norm->Forward(o.x, o.gamma, o.beta, o.y), absl::OkStatus());
    const Doubles y = ValuesOf(o.y), vector = Values(operand == 1 ? o.gamma : o.beta);
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t channel = format() == TensorFormat::kNCHW ? i / 9 % 4 : i % 4;
      if (operand == 0 ? std::isnan(before[i]) : std::isnan(vector[channel])) {
        EXPECT_TRUE(std::isnan(y[i])) << operand << " " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , GroupNormTest,
    ::testing::Combine(::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64, DType::kBfloat16),
                       ::testing::Bool()),
    [](const auto& info) {
      return std::string(Name(std::get<0>(info.param))) +
             std::string(Name(std::get<1>(info.param))) +
             (std::get<2>(info.param) ? "PerPixel" : "");
    });

TEST(GroupNormSpecTest, RefusesWhatMakesNoSense) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto message = [&](const GroupNormSpec& spec) {
    return std::string(CreateGroupNorm(*context, spec).status().message());
  };
  EXPECT_EQ(message({.batch = 1, .channels = 6, .groups = 4}),
            "group norm: 6 channels do not divide into 4 groups");
  EXPECT_EQ(message({.batch = 0, .channels = 6}), "group norm: batch is 0, expected 1 or more");
  EXPECT_EQ(message({.batch = 1, .channels = 6, .groups = 0}),
            "group norm: groups is 0, expected 1 or more");
  EXPECT_EQ(message({.batch = 1, .channels = 6, .epsilon = 0}),
            "group norm: epsilon is 0, expected a finite number above 0");
  const auto norm = *CreateGroupNorm(*context, {.batch = 2, .positions = 4, .channels = 6});
  const Tensor x = ZeroTensor(DType::kFloat32, {3, 2, 2, 6}),
               gamma = ZeroTensor(DType::kFloat32, {6});
  EXPECT_EQ(norm->Forward(x, gamma, gamma, x).message(),
            "group norm: shape (3, 2, 2, 6), expected up to 2 images of 4 pixels and 6 channels in "
            "NHWC");
}

}  // namespace
}  // namespace dtnn

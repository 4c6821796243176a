#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/batch_norm/norm_pair.h"
#include "kernels/batch_norm/reference.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::Put;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;

using Doubles = std::vector<double>;

struct Case {
  Shape extents;  // of an image as NHWC, or a vector
  bool relu = true;
  int64_t gap = 0;  // channels of the memory that no view has
};
const Case kCases[] = {{{1, 1}},
                       {{3, 34}},
                       {{2, 5, 3, 24}, false},
                       {{2, 3, 5, 24}, true, 8},
                       {{2, 3, 5, 24}, true, 3},
                       {{3, 3, 5, 1}}};

class NormPairTest : public ::testing::TestWithParam<std::tuple<Device, TensorFormat, DType>> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, std::get<0>(GetParam()));
    gpu_ = std::move(gpu);
  }

  NormPairSpec SpecOf(const Case& c) const {
    const Shape& e = c.extents;
    BatchNormSpec spec = {.batch = e[0] + 1,
                          .positions = e.rank() == 2 ? 1 : e[1] * e[2],
                          .channels = e[e.rank() - 1],
                          .format = format_,
                          .dtype = dtype_,
                          .add = true,
                          .relu = c.relu};
    NormPairSpec pair = {spec, spec};
    pair[1].epsilon = 1e-3;
    pair[1].momentum = 0.75;
    return pair;
  }
  // On the device: values, or memory that is to be written.
  Tensor Images(const Case& c, uint64_t seed, double mean = 0) const {
    const Shape& e = c.extents;
    const int64_t channels = e[e.rank() - 1], wide = channels + c.gap;
    const Shape shape =
        e.rank() == 2 ? Shape{e[0], wide} : SampleShape({e[1], e[2], wide}, format_).Prepend(e[0]);
    Doubles values = Values(RandomTensor(DType::kFloat64, shape, seed));
    for (double& value : values) value += mean;
    const Tensor all =
        seed == 0 ? Unwritten(dtype_, shape) : Put(*gpu_, TensorOf(dtype_, shape, values));
    if (c.gap == 0) return all;
    const Tensor view = all.Channels(c.gap, channels, format_);
    wholes_[view.raw_data()] = {all, c.gap};
    return view;
  }
  Tensor Unwritten(DType dtype, const Shape& shape) const {
    return *Tensor::Allocate(gpu_->device(), dtype, shape);
  }
  Tensor Vector(DType dtype, int64_t channels, uint64_t seed) const {
    return Put(*gpu_, RandomTensor(dtype, {channels}, seed));
  }
  NormPairTerm TermOf(const Case& c, uint64_t seed) const {
    const int64_t channels = c.extents[c.extents.rank() - 1];
    const DType wide = WideOf(dtype_);
    return {
        .x = Images(c, seed, double(seed) / 4),
        .statistics = {Unwritten(DType::kFloat64, {channels}),
                       Unwritten(DType::kFloat64, {channels})},
        .parameters = {{Vector(wide, channels, seed + 3), 1},
                       {Vector(wide, channels, seed + 4), 1}},
        .running = {{Vector(wide, channels, seed + 5), 1}, {Vector(wide, channels, seed + 6), 1}},
        .gradients = {Unwritten(wide, {channels}), Unwritten(wide, {channels})},
        .dx = Images(c, 0)};
  }
  struct Memory {
    Memory(DeviceContext& gpu, size_t bytes)
        : buffer(*Buffer::Allocate(gpu.device(), bytes)), workspace(buffer->data(), bytes) {}
    std::shared_ptr<Buffer> buffer;
    Workspace workspace;
  };
  Doubles ValuesOf(const Tensor& tensor) const {
    const auto whole = wholes_.find(tensor.raw_data());
    if (whole == wholes_.end()) return Values(Get(*gpu_, tensor));
    const auto& [all, gap] = whole->second;
    const int64_t channels = ExtentsOf(tensor.shape().DropFirst(), format_).channels;
    return Values(Get(*gpu_, all).Channels(gap, channels, format_), format_);
  }
  // What a step has written, and what should be as it was.
  std::vector<Doubles> Results(const NormPairTerms& terms, const Tensor& y) const {
    std::vector<Doubles> results = {ValuesOf(y)};
    for (const NormPairTerm& term : terms) {
      for (const Tensor* tensor :
           {&term.statistics.mean, &term.statistics.variance, &term.running.mean.tensor,
            &term.running.variance.tensor, &term.gradients.gamma, &term.gradients.beta, &term.dx}) {
        results.push_back(ValuesOf(*tensor));
      }
    }
    return results;
  }
  enum class Way : uint8_t { kBySigns, kOverDyAndOutput };
  std::vector<Doubles> Train(const Case& c, Way way) const {
    const auto pair = *CreateNormPair(*gpu_, SpecOf(c));
    const Memory memory(*gpu_, pair->workspace_bytes());
    NormPairTerms terms = {TermOf(c, 20), TermOf(c, 40)};
    BatchNormOutput out = Images(c, 0);
    const int64_t n = out.y.shape()[0];
    if (way == Way::kBySigns && pair->signs_bytes() > 0) {
      out.signs = Put(*gpu_, *Tensor::Zeros(DType::kUint8, {n, pair->signs_bytes()}));
    }
    EXPECT_EQ(pair->Normalize(terms, out, memory.workspace), absl::OkStatus());
    const Doubles y = ValuesOf(out.y);
    if (!out.signs.empty()) out.y = Images(c, 0);  // is not read
    const Tensor dy = Images(c, 62);
    if (way == Way::kOverDyAndOutput) {
      terms[0].dx = dy;
      terms[1].dx = out.y;
    }
    EXPECT_EQ(pair->Backward(terms, out, dy, memory.workspace), absl::OkStatus());
    if (way == Way::kBySigns) {
      EXPECT_EQ(ValuesOf(dy), ValuesOf(Images(c, 62)));
    }
    std::vector<Doubles> results = Results(terms, out.y);
    results[0] = y;
    return results;
  }
  // By a normalisation, and one that adds.
  std::vector<Doubles> TrainOneByOne(const Case& c) const {
    NormPairSpec spec = SpecOf(c);
    spec[0].add = spec[0].relu = false;
    const auto first = *CreateBatchNorm(*gpu_, spec[0]), second = *CreateBatchNorm(*gpu_, spec[1]);
    const Memory memory(*gpu_, std::max(first->workspace_bytes(), second->workspace_bytes()));
    const NormPairTerms terms = {TermOf(c, 20), TermOf(c, 40)};
    const Tensor between = Images(c, 0), y = Images(c, 0), dy = Images(c, 62);
    const auto& [a, b] = terms;
    EXPECT_EQ(
        first->Normalize(a.x, a.statistics, a.parameters, a.running, {}, between, memory.workspace),
        absl::OkStatus());
    EXPECT_EQ(
        second->Normalize(b.x, b.statistics, b.parameters, b.running, between, y, memory.workspace),
        absl::OkStatus());
    EXPECT_EQ(second->Backward(b.x, y, dy, b.statistics, b.parameters, b.gradients, b.dx, false,
                               memory.workspace),
              absl::OkStatus());
    EXPECT_EQ(first->Backward(a.x, Tensor(), dy, a.statistics, a.parameters, a.gradients, a.dx,
                              false, memory.workspace),
              absl::OkStatus());
    return Results(terms, y);
  }

  void CompareWithPlainLoops(const Case& c, const std::vector<Doubles>& actual) const {
    const double step = dtype_ == DType::kBfloat16  ? 1.0 / 256
                        : dtype_ == DType::kFloat16 ? 1.0 / 2048
                        : dtype_ == DType::kFloat32 ? 1e-6
                                                    : 1e-14;
    const int64_t channels = c.extents[c.extents.rank() - 1];
    const int64_t count = c.extents.NumElements() / channels;
    if (count == 1) return;  // no variance: what is left is divided by the root of epsilon
    const NormPairSpec spec = SpecOf(c);
    const bool planes = format_ == TensorFormat::kNCHW && c.extents.rank() == 4;
    const int64_t inner = planes ? spec[0].positions : 1;
    Doubles sum;
    std::vector<reference::BatchNorm> norms;
    std::vector<Doubles> xs;
    for (size_t term : {0, 1}) {
      const NormPairTerm own = TermOf(c, term == 0 ? 20 : 40);
      norms.push_back({c.extents.NumElements() / channels / inner, channels, inner,
                       spec[term].epsilon, /*relu=*/false, ValuesOf(own.parameters.gamma.tensor),
                       ValuesOf(own.parameters.beta.tensor)});
      xs.push_back(ValuesOf(own.x));
      Doubles mean, variance;
      norms[term].Statistics(xs[term], mean, variance);
      sum = norms[term].Apply(xs[term], mean, variance, sum);
    }
    if (c.relu) {
      for (double& value : sum) value = std::max(value, 0.0);
    }
    EXPECT_TRUE(Close(actual[0], sum, 20 * step, 4 * step));
    // The relu cuts by what was written.
    Doubles dy = ValuesOf(Images(c, 62));
    if (c.relu) dy = reference::BatchNorm::Cut(actual[0], dy);
    for (size_t term : {0, 1}) {
      Doubles dgamma, dbeta, dx;
      norms[term].Backward(xs[term], dy, dgamma, dbeta, dx);
      const size_t first = 1 + 7 * term;
      const double sums = 1e-5 * std::sqrt(double(count)) * (1 + double(count) / 16);
      EXPECT_TRUE(Close(actual[first + 4], dgamma, 10 * sums)) << term;
      EXPECT_TRUE(Close(actual[first + 5], dbeta, sums)) << term;
      EXPECT_TRUE(Close(actual[first + 6], dx, 40 * step, 4 * step)) << term;
    }
  }

  const TensorFormat format_ = std::get<1>(GetParam());
  const DType dtype_ = std::get<2>(GetParam());
  std::unique_ptr<DeviceContext> gpu_;
  // By the memory of a view: what it is of, and its first channel.
  mutable std::map<const std::byte*, std::pair<Tensor, int64_t>> wholes_;
};

// By the output, over dy and itself; by signs; by plain loops; and one normalisation after the
// other: the same.
TEST_P(NormPairTest, IsOneAfterTheOther) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.extents.ToString() + " gap " + std::to_string(c.gap));
    const std::vector<Doubles> actual = Train(c, Way::kOverDyAndOutput);
    EXPECT_EQ(Train(c, Way::kBySigns), actual);
    const Doubles& y = actual[0];
    if (c.relu && y.size() > 100) {
      EXPECT_GT(std::ranges::count(y, 0.0), 0);
      EXPECT_LT(std::ranges::count(y, 0.0), std::ssize(y));
    }
    CompareWithPlainLoops(c, actual);
    const std::vector<Doubles> expected = TrainOneByOne(c);
    if (!IsHalf(dtype_)) {
      EXPECT_EQ(actual, expected);
      continue;
    }
    // What stands between the two is not rounded to 16 bits: y may be another, and the relu may
    // cut elsewhere. Statistics come from the same sums.
    const double step = dtype_ == DType::kBfloat16 ? 1.0 / 128 : 1.0 / 1024;
    EXPECT_TRUE(Close(actual[0], expected[0], 4 * step, step));
    for (const size_t first : {1, 8}) {
      for (size_t i = first; i < first + 4; ++i) EXPECT_EQ(actual[i], expected[i]) << i;
    }
  }
}

TEST_P(NormPairTest, NaNComesOut) {
  const Case c = {{3, 2, 3, 24}};
  const auto pair = *CreateNormPair(*gpu_, SpecOf(c));
  const Memory memory(*gpu_, pair->workspace_bytes());
  const Shape shape = Images(c, 1).shape();
  NormPairTerms terms = {TermOf(c, 20), TermOf(c, 40)};
  const BatchNormOutput out = Images(c, 0);
  EXPECT_EQ(pair->Normalize(terms, out, memory.workspace), absl::OkStatus());
  const Tensor dy = Put(*gpu_, testing::NaNTensor(dtype_, shape));
  EXPECT_EQ(pair->Backward(terms, out, dy, memory.workspace), absl::OkStatus());
  for (const NormPairTerm& term : terms) {
    EXPECT_TRUE(testing::HasNaN(ValuesOf(term.gradients.beta)));
    EXPECT_TRUE(testing::KeepsNaN(ValuesOf(term.dx), ValuesOf(dy)));
  }
  terms[0].x = dy;
  EXPECT_EQ(pair->Normalize(terms, out, memory.workspace), absl::OkStatus());
  EXPECT_TRUE(testing::KeepsNaN(ValuesOf(out.y), ValuesOf(dy)));
}

TEST_P(NormPairTest, RefusesWhatDoesNotFit) {
  const Case c = {{3, 2, 3, 24}}, other = {{3, 2, 3, 23}};
  const auto pair = *CreateNormPair(*gpu_, SpecOf(c));
  const Memory memory(*gpu_, pair->workspace_bytes());
  NormPairTerms terms = {TermOf(c, 20), TermOf(c, 40)};
  const Tensor y = Images(c, 60);
  const auto message = [](const absl::Status& status) { return std::string(status.message()); };
  const std::string workspace = "batch normalisation: a workspace of 0 bytes, expected " +
                                std::to_string(pair->workspace_bytes());
  EXPECT_EQ(message(pair->Normalize(terms, y, {})), workspace);
  EXPECT_EQ(message(pair->Backward(terms, y, y, {})), workspace);
  EXPECT_EQ(
      message(pair->Normalize({terms[0], TermOf(other, 1)}, y, memory.workspace)).substr(0, 20),
      "batch normalisation:");
  const Tensor signs = Put(*gpu_, *Tensor::Zeros(DType::kUint8, {3, pair->signs_bytes() + 1}));
  EXPECT_NE(message(pair->Normalize(terms, {y, signs}, memory.workspace)).find("the signs"),
            std::string::npos);
  EXPECT_NE(message(pair->Backward(terms, {y, signs}, y, memory.workspace)).find("the signs"),
            std::string::npos);
  for (NormPairTerm& term : terms) term.x = term.x.Samples(0, 0, format_);
  EXPECT_EQ(message(pair->Normalize(terms, y.Samples(0, 0, format_), memory.workspace)),
            "batch normalisation: no elements to take the mean of");
  NormPairSpec spec = SpecOf(c);
  spec[1].channels = 23;
  EXPECT_EQ(message(CreateNormPair(*gpu_, spec).status()),
            "two normalisations at once: expected specs that add, and that differ in epsilon and "
            "momentum alone");
  spec = SpecOf(c);
  spec[1].epsilon = 0;
  EXPECT_EQ(message(CreateNormPair(*gpu_, spec).status()),
            "batch normalisation: epsilon 0 and momentum 0.75, expected a positive epsilon and a "
            "momentum in [0, 1]");
}

INSTANTIATE_TEST_SUITE_P(
    , NormPairTest,
    ::testing::Combine(::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64, DType::kBfloat16,
                                         DType::kFloat16)));

TEST(NormPairOnTheCpuTest, IsRefused) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  const BatchNormSpec spec = {.batch = 1, .channels = 4, .add = true};
  const absl::Status status = CreateNormPair(*cpu, {spec, spec}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(), "two normalisations at once: not on a CPU; use a BatchNorm for each");
}

}  // namespace
}  // namespace dtnn

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/device/gpu_context.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::NaNTensor;
using testing::Put;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;

// A primitive with its memory on a device; made with the same seeds on any.
struct Bench {
  Bench(DeviceContext& context, const BatchNormSpec& spec)
      : context(context), primitive(*CreateBatchNorm(context, spec)) {
    const auto vector = [&](DType dtype, uint64_t seed) {
      return Put(context, RandomTensor(dtype, {spec.channels}, seed));
    };
    statistics = {vector(DType::kFloat64, 1), vector(DType::kFloat64, 2)};
    parameters = {{vector(spec.dtype, 3), 1}, {vector(spec.dtype, 4), 1}};
    running = {{vector(spec.dtype, 5), 1}, {vector(spec.dtype, 6), 1}};
    gradients = {vector(spec.dtype, 7), vector(spec.dtype, 8)};
    memory = *Buffer::Allocate(context.device(), primitive->workspace_bytes());
    workspace = {memory->data(), primitive->workspace_bytes()};
  }

  DeviceContext& context;
  std::unique_ptr<BatchNorm> primitive;
  BatchStatistics statistics;
  BatchNormParameters parameters;
  RunningStatistics running;
  BatchNormGradients gradients;
  std::shared_ptr<Buffer> memory;
  Workspace workspace;
};

struct Case {
  Shape extents;  // of an image as NHWC, or a vector
  double mean = 0.5;
};
const Case kCases[] = {{{1, 1}},         {{33, 17}},      {{2, 513}},
                       {{1, 1, 1, 5}},   {{3, 5, 7, 20}}, {{2, 33, 31, 3}},
                       {{5, 1, 1, 130}}, {{4, 9, 8, 1}},  {{6, 12, 10, 2}, 1e4}};

// What comes after: a relu, an addition.
constexpr std::pair<bool, bool> kEnds[] = {
    {false, false}, {true, false}, {false, true}, {true, true}};

class BatchNormGpuTest : public ::testing::TestWithParam<std::tuple<Device, TensorFormat, DType>> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, std::get<0>(GetParam()));
    gpu_ = std::move(gpu);
  }
  Shape ShapeOf(const Case& c, int64_t more_channels) const {
    const Shape& e = c.extents;
    if (e.rank() == 2) return {e[0], e[1] + more_channels};
    return SampleShape({e[1], e[2], e[3] + more_channels}, format_).Prepend(e[0]);
  }
  BatchNormSpec SpecOf(const Case& c, bool relu, bool add = false) const {
    const Shape& e = c.extents;
    return {.batch = e[0],
            .positions = e.rank() == 2 ? 1 : e[1] * e[2],
            .channels = e[e.rank() - 1],
            .format = format_,
            .dtype = dtype_,
            .add = add,
            .relu = relu};
  }
  Tensor Input(const Case& c, int64_t more_channels) const {
    const Shape shape = ShapeOf(c, more_channels);
    std::vector<double> values = Values(RandomTensor(DType::kFloat64, shape, 11));
    for (double& value : values) value = 2 * value + c.mean;
    return testing::TensorOf(dtype_, shape, values);
  }
  Tensor Middle(const Tensor& wide, const Case& c) const {
    return wide.Channels(1, c.extents[c.extents.rank() - 1], format_);
  }
  // For values around 1.
  double Tolerance(const Case& c) const {
    const double epsilon = dtype_ == DType::kFloat32 ? 1e-6 : 1e-14;
    return 20 * epsilon * (1 + c.mean);
  }

  const TensorFormat format_ = std::get<1>(GetParam());
  const DType dtype_ = std::get<2>(GetParam());
  std::unique_ptr<DeviceContext> gpu_, cpu_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(BatchNormGpuTest, TrainingSameAsCpu) {
  for (const Case& c : kCases) {
    for (const auto& [relu, add] : kEnds) {
      BatchNormSpec spec = SpecOf(c, relu, add);
      const int64_t count = spec.batch * spec.positions;
      if (relu) spec.batch += 2;  // fewer samples than the spec allows
      Bench cpu(*cpu_, spec), gpu(*gpu_, spec);
      const Tensor x = Input(c, 3), y = ZeroTensor(dtype_, ShapeOf(c, 0));
      const Tensor dy = RandomTensor(dtype_, ShapeOf(c, 0), 12);
      const Tensor dx = RandomTensor(dtype_, ShapeOf(c, 3), 13), addend = Input(c, 3);
      const Tensor device_addend = Put(*gpu_, addend);
      const Tensor device_x = Put(*gpu_, x), device_y = Put(*gpu_, y);
      const Tensor device_dy = Put(*gpu_, dy), device_dx = Put(*gpu_, dx);
      const double tolerance = Tolerance(c);
      const auto run = [&](Bench& bench, const Tensor& in, const Tensor& added, const Tensor& out,
                           const Tensor& dout, const Tensor& din, bool accumulate) {
        BatchNorm& norm = *bench.primitive;
        ASSERT_EQ(norm.Statistics(in, bench.statistics, bench.workspace), absl::OkStatus());
        ASSERT_EQ(norm.Track(bench.statistics, bench.running), absl::OkStatus());
        ASSERT_EQ(norm.Apply(in, bench.statistics, bench.parameters, spec.add ? added : Tensor(),
                             out, bench.workspace),
                  absl::OkStatus());
        ASSERT_EQ(norm.Gradients(in, spec.cuts_by_output() ? out : Tensor(), dout, bench.statistics,
                                 bench.parameters, bench.gradients, bench.workspace),
                  absl::OkStatus());
        ASSERT_EQ(norm.BackwardData(in, dout, bench.statistics, bench.parameters, bench.gradients,
                                    count, din, accumulate, bench.workspace),
                  absl::OkStatus());
      };
      for (const bool accumulate : {true, false}) {
        run(cpu, Middle(x, c), Middle(addend, c), y, dy, Middle(dx, c), accumulate);
        run(gpu, Middle(device_x, c), Middle(device_addend, c), device_y, device_dy,
            Middle(device_dx, c), accumulate);
        const std::string which =
            c.extents.ToString() + (add ? " add" : "") + (relu ? " relu" : "");
        const auto same = [&](const Tensor& actual, const Tensor& expected, double terms) {
          EXPECT_TRUE(Close(Get(*gpu_, actual), expected, terms * tolerance, terms * tolerance))
              << which;
        };
        same(gpu.statistics.mean, cpu.statistics.mean, 1);
        same(gpu.statistics.variance, cpu.statistics.variance, 1);
        same(gpu.running.mean.tensor, cpu.running.mean.tensor, 1);
        same(gpu.running.variance.tensor, cpu.running.variance.tensor, 1);
        same(device_y, y, 1);
        same(device_dy, dy, 1);
        // Sums over the positions of a channel.
        const double terms = 1 + double(count) / 16;
        same(gpu.gradients.gamma, cpu.gradients.gamma, terms);
        same(gpu.gradients.beta, cpu.gradients.beta, terms);
        // One element has no variance: what is left of it is divided by the root of epsilon.
        same(device_dx, dx, count == 1 ? 400 : 4);
      }
    }
  }
}

TEST_P(BatchNormGpuTest, InferenceSameAsCpuAndFollowsTheVersions) {
  for (const Case& c : kCases) {
    for (const auto& [relu, add] : kEnds) {
      BatchNormSpec spec = SpecOf(c, relu, add);
      const bool cuts = spec.cuts_by_output();
      if (relu) spec.batch += 2;  // fewer samples than the spec allows
      Bench cpu(*cpu_, spec), gpu(*gpu_, spec);
      const Tensor x = Input(c, 0), dy = RandomTensor(dtype_, ShapeOf(c, 0), 12);
      const Tensor dx = RandomTensor(dtype_, ShapeOf(c, 0), 13), y = ZeroTensor(dtype_, x.shape());
      const Tensor device_x = Put(*gpu_, x), device_dy = Put(*gpu_, dy);
      const Tensor device_dx = Put(*gpu_, dx), device_y = Put(*gpu_, y);
      const Tensor addend = add ? Input(c, 0) : Tensor();
      const Tensor device_addend = add ? Put(*gpu_, addend) : Tensor();
      for (const uint64_t version : {1, 1, 2}) {
        for (Bench* bench : {&cpu, &gpu}) {
          if (version == 2) {
            const Tensor other = RandomTensor(dtype_, {spec.channels}, 14);
            ASSERT_EQ(bench->context.Copy(other, bench->parameters.beta.tensor), absl::OkStatus());
          }
          bench->parameters.beta.version = version;
          const bool on_gpu = bench == &gpu;
          ASSERT_EQ(bench->primitive->Infer(on_gpu ? device_x : x, bench->parameters,
                                            bench->running, on_gpu ? device_addend : addend,
                                            on_gpu ? device_y : y, bench->workspace),
                    absl::OkStatus());
          ASSERT_EQ(bench->primitive->BackwardInfer(on_gpu ? device_x : x,
                                                    !cuts    ? Tensor()
                                                    : on_gpu ? device_y
                                                             : y,
                                                    on_gpu ? device_dy : dy, bench->parameters,
                                                    bench->running, on_gpu ? device_dx : dx,
                                                    version == 2, bench->workspace),
                    absl::OkStatus());
        }
        // A variance below 0 counts as 0: the root of epsilon divides.
        const double tolerance = 400 * Tolerance(c);
        EXPECT_TRUE(Close(Get(*gpu_, device_y), y, tolerance, tolerance)) << c.extents.ToString();
        EXPECT_TRUE(Close(Get(*gpu_, device_dx), dx, tolerance, tolerance)) << c.extents.ToString();
        EXPECT_TRUE(Close(Get(*gpu_, device_dy), dy, 0)) << c.extents.ToString();
      }
    }
  }
}

// The memory for sums must do for vectors of 16 bytes, of which a row has fewer than of elements:
// rows are divided into more parts then.
TEST_P(BatchNormGpuTest, ManyRowsOfManyChannels) {
  const auto& [device, format, dtype] = GetParam();
  if (format == TensorFormat::kNCHW) GTEST_SKIP() << "vectors have no format";
  Bench bench(*gpu_, {.batch = 1700, .channels = 1024, .dtype = dtype});
  const Tensor x = Put(*gpu_, testing::OnesTensor(dtype, {1700, 1024}));
  ASSERT_EQ(bench.primitive->Statistics(x, bench.statistics, bench.workspace), absl::OkStatus());
  EXPECT_EQ(Values(Get(*gpu_, bench.statistics.mean)), std::vector<double>(1024, 1));
  EXPECT_EQ(Values(Get(*gpu_, bench.statistics.variance)), std::vector<double>(1024, 0));
}

TEST_P(BatchNormGpuTest, NoSamplesSameAsCpu) {
  const Case some = {{3, 5, 7, 4}}, none = {{0, 5, 7, 4}};
  const BatchNormSpec spec = SpecOf(some, true);
  Bench cpu(*cpu_, spec), gpu(*gpu_, spec);
  for (Bench* bench : {&cpu, &gpu}) {
    const Tensor x = Put(bench->context, ZeroTensor(dtype_, ShapeOf(none, 0)));
    BatchNorm& norm = *bench->primitive;
    ASSERT_EQ(norm.Apply(x, bench->statistics, bench->parameters, Tensor(), x, bench->workspace),
              absl::OkStatus());
    ASSERT_EQ(norm.Infer(x, bench->parameters, bench->running, Tensor(), x, bench->workspace),
              absl::OkStatus());
    ASSERT_EQ(norm.Gradients(x, Tensor(), x, bench->statistics, bench->parameters, bench->gradients,
                             bench->workspace),
              absl::OkStatus());
    ASSERT_EQ(norm.BackwardData(x, x, bench->statistics, bench->parameters, bench->gradients, 105,
                                x, false, bench->workspace),
              absl::OkStatus());
    ASSERT_EQ(norm.BackwardInfer(x, Tensor(), x, bench->parameters, bench->running, x, false,
                                 bench->workspace),
              absl::OkStatus());
    // No gradients, instead of what was there.
    EXPECT_EQ(Values(Get(bench->context, bench->gradients.gamma)), std::vector<double>(4, 0.0));
    EXPECT_EQ(Values(Get(bench->context, bench->gradients.beta)), std::vector<double>(4, 0.0));
  }
}

// NaNs come out where they do on the CPU, and nowhere else; returns whether there were any.
bool SameNaNs(const Tensor& actual, const Tensor& expected) {
  const std::vector<double> a = Values(actual), e = Values(expected);
  for (size_t i = 0; i < e.size(); ++i) {
    EXPECT_EQ(std::isnan(a[i]), std::isnan(e[i])) << "element " << i << " is " << a[i];
  }
  return testing::HasNaN(e);
}

TEST_P(BatchNormGpuTest, NaNInAnyOperandOfTrainingComesOut) {
  const Case c = {{3, 5, 7, 4}};
  const Shape shape = ShapeOf(c, 0);
  for (const bool relu : {false, true}) {
    const BatchNormSpec spec = SpecOf(c, relu);
    for (int operand = 0; operand < 8; ++operand) {
      SCOPED_TRACE(std::to_string(operand) + (relu ? " relu" : ""));
      std::vector<std::vector<Tensor>> results;
      for (DeviceContext* context : {cpu_.get(), gpu_.get()}) {
        Bench bench(*context, spec);
        const auto images = [&](int number, uint64_t seed) {
          return Put(*context, operand == number ? NaNTensor(dtype_, shape)
                                                 : RandomTensor(dtype_, shape, seed));
        };
        const Tensor x = images(0, 11), dy = images(1, 12), dx = images(2, 13);
        const Tensor y = Put(*context, ZeroTensor(dtype_, shape));
        Tensor* const vectors[] = {
            &bench.parameters.gamma.tensor, &bench.parameters.beta.tensor,
            &bench.running.mean.tensor,     &bench.running.variance.tensor,
            &bench.gradients.gamma,  // is written only
        };
        if (operand >= 3) {
          *vectors[operand - 3] = Put(*context, NaNTensor(dtype_, {spec.channels}));
        }
        BatchNorm& norm = *bench.primitive;
        ASSERT_EQ(norm.Statistics(x, bench.statistics, bench.workspace), absl::OkStatus());
        ASSERT_EQ(norm.Track(bench.statistics, bench.running), absl::OkStatus());
        ASSERT_EQ(norm.Apply(x, bench.statistics, bench.parameters, Tensor(), y, bench.workspace),
                  absl::OkStatus());
        ASSERT_EQ(norm.Gradients(x, Tensor(), dy, bench.statistics, bench.parameters,
                                 bench.gradients, bench.workspace),
                  absl::OkStatus());
        ASSERT_EQ(norm.BackwardData(x, dy, bench.statistics, bench.parameters, bench.gradients, 105,
                                    dx, /*accumulate=*/true, bench.workspace),
                  absl::OkStatus());
        const Tensor* const outputs[] = {&bench.statistics.mean,
                                         &bench.statistics.variance,
                                         &bench.running.mean.tensor,
                                         &bench.running.variance.tensor,
                                         &y,
                                         &bench.gradients.gamma,
                                         &bench.gradients.beta,
                                         &dx};
        std::vector<Tensor>& result = results.emplace_back();
        for (const Tensor* output : outputs) result.push_back(Get(*context, *output));
      }
      int with = 0;
      for (size_t i = 0; i < results[0].size(); ++i) with += SameNaNs(results[1][i], results[0][i]);
      EXPECT_EQ(with > 0, operand < 7);
    }
  }
}

TEST_P(BatchNormGpuTest, NaNInAnyOperandOfInferenceComesOut) {
  const Case c = {{3, 5, 7, 4}};
  const Shape shape = ShapeOf(c, 0);
  for (const bool relu : {false, true}) {
    const BatchNormSpec spec = SpecOf(c, relu);
    for (int operand = 0; operand < 7; ++operand) {
      SCOPED_TRACE(std::to_string(operand) + (relu ? " relu" : ""));
      std::vector<std::vector<Tensor>> results;
      for (DeviceContext* context : {cpu_.get(), gpu_.get()}) {
        Bench bench(*context, spec);
        const auto images = [&](int number, uint64_t seed) {
          return Put(*context, operand == number ? NaNTensor(dtype_, shape)
                                                 : RandomTensor(dtype_, shape, seed));
        };
        const Tensor x = images(0, 11), dy = images(1, 12), dx = images(2, 13);
        const Tensor y = Put(*context, ZeroTensor(dtype_, shape));
        Tensor* const vectors[] = {&bench.parameters.gamma.tensor, &bench.parameters.beta.tensor,
                                   &bench.running.mean.tensor, &bench.running.variance.tensor};
        if (operand >= 3) {
          *vectors[operand - 3] = Put(*context, NaNTensor(dtype_, {spec.channels}));
        }
        ASSERT_EQ(bench.primitive->Infer(x, bench.parameters, bench.running, Tensor(), y,
                                         bench.workspace),
                  absl::OkStatus());
        ASSERT_EQ(
            bench.primitive->BackwardInfer(x, Tensor(), dy, bench.parameters, bench.running, dx,
                                           /*accumulate=*/true, bench.workspace),
            absl::OkStatus());
        results.push_back({Get(*context, y), Get(*context, dx)});
      }
      const int with =
          SameNaNs(results[1][0], results[0][0]) + SameNaNs(results[1][1], results[0][1]);
      EXPECT_GT(with, 0);
    }
  }
}

// A capture that was spoiled refuses every launch until it ends.
TEST_P(BatchNormGpuTest, VersionsOfACallThatFailedAreNotKept) {
  const Case c = {{3, 5, 7, 4}};
  Bench cpu(*cpu_, SpecOf(c, false)), gpu(*gpu_, SpecOf(c, false));
  const Tensor x = Input(c, 0), y = ZeroTensor(dtype_, x.shape());
  const Tensor device_x = Put(*gpu_, x), device_y = Put(*gpu_, y);
  const auto infer = [&] {
    return gpu.primitive->Infer(device_x, gpu.parameters, gpu.running, Tensor(), device_y,
                                gpu.workspace);
  };
  ASSERT_EQ(infer(), absl::OkStatus());
  for (Bench* bench : {&cpu, &gpu}) {
    const Tensor other = RandomTensor(dtype_, {4}, 14);
    ASSERT_EQ(bench->context.Copy(other, bench->parameters.beta.tensor), absl::OkStatus());
    bench->parameters.beta.version = 2;
  }
  gpu::Stream& stream = static_cast<GpuContext&>(*gpu_).stream();
  ASSERT_EQ(stream.BeginCapture(), absl::OkStatus());
  EXPECT_FALSE(stream.Synchronize().ok());
  EXPECT_FALSE(infer().ok());
  EXPECT_FALSE(stream.EndCapture().ok());
  ASSERT_EQ(infer(), absl::OkStatus());
  ASSERT_EQ(cpu.primitive->Infer(x, cpu.parameters, cpu.running, Tensor(), y, cpu.workspace),
            absl::OkStatus());
  const double tolerance = 400 * Tolerance(c);
  EXPECT_TRUE(Close(Get(*gpu_, device_y), y, tolerance, tolerance));
}

TEST_P(BatchNormGpuTest, RefusesWhatDoesNotFit) {
  const Case c = {{3, 5, 7, 4}};
  Bench gpu(*gpu_, SpecOf(c, false));
  const Tensor host = Input(c, 0), x = Put(*gpu_, host);
  const auto statistics = [&](const Tensor& tensor, Workspace workspace) {
    return gpu.primitive->Statistics(tensor, gpu.statistics, workspace).code();
  };
  EXPECT_EQ(statistics(x, gpu.workspace), absl::StatusCode::kOk);
  EXPECT_EQ(statistics(host, gpu.workspace), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(statistics(x, {}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(statistics(x.Samples(0, 0, format_), gpu.workspace),
            absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(
    , BatchNormGpuTest,
    ::testing::Combine(::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64)));

}  // namespace
}  // namespace dtnn

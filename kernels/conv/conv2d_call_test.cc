// What a call of Conv2d does beside computing.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/conv/check.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/reference.h"
#include "kernels/conv/testing/conv2d_runner.h"
#include "tools/testing/count_allocations.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::ComputesAll;
using testing::Conv2dRunner;
using testing::IntegerTensor;
using testing::Pitched;
using testing::Values;
using testing::WhereSupported;
using testing::ZeroTensor;

Conv2dSpec Small() {
  Conv2dSpec spec;
  spec.batch = 4, spec.height = 9, spec.width = 9, spec.channels = 8, spec.filters = 16;
  spec.padding = 1;
  return spec;
}

// One that the variant computes in every direction, if either does.
Conv2dSpec SmallFor(std::string_view variant) {
  Conv2dSpec depthwise = Small();
  depthwise.groups = depthwise.filters = depthwise.channels;
  for (const Conv2dSpec& spec : {Small(), depthwise}) {
    if (ComputesAll(variant, spec)) return spec;
  }
  return Small();
}

TEST(Conv2dCallTest, AllocatesNothing) {
  for (const std::string_view variant : Conv2dVariantNames()) {
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      Conv2dSpec spec = SmallFor(variant);
      spec.format = format;
      Conv2dRunner runner(spec, WhereSupported(variant, spec));
      const Tensor x = ZeroTensor(spec.dtype, spec.InputShape());
      const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
      const Tensor w = ZeroTensor(spec.dtype, spec.FilterShape());
      const Tensor dbias = ZeroTensor(spec.dtype, {spec.filters});
      const auto run_all = [&] {
        runner.Forward(x, w, y, {}, 0);
        runner.BackwardData(y, w, x);
        runner.BackwardFilter(x, y, w, dbias);
      };
      run_all();
      const testing::AllocationCounter counter;
      run_all();
      run_all();
      EXPECT_EQ(counter.count(), 0) << variant;
    }
  }
}

// One after the other: what the sums of one group take does not stay until all are done.
TEST(Conv2dCallTest, GroupsShareAWorkspace) {
  for (const std::string_view variant : {"i2c", "gemm"}) {
    const auto bytes = [&](int64_t groups) {
      Conv2dSpec spec = Small();
      spec.height = spec.width = 33;
      spec.groups = groups, spec.channels = 4 * groups, spec.filters = 6 * groups;
      return Conv2dRunner(spec, variant).conv().workspace_bytes();
    };
    EXPECT_LT(bytes(32), 2 * bytes(2)) << variant;
  }
}

TEST(Conv2dCallTest, AskingAVariantAllocatesNothing) {
  Conv2dSpec spec = Small();
  spec.stride = 2;  // refused by winograd, direct and depthwise
  int refused = 0;
  const std::vector<std::string_view> names = Conv2dVariantNames();
  const testing::AllocationCounter counter;
  for (const conv::Direction direction : conv::kDirections) {
    AutomaticVariant(spec, direction);
    for (const std::string_view name : names)
      refused += !Conv2dRefusal(name, spec, direction).empty();
  }
  EXPECT_EQ(counter.count(), 0);
  EXPECT_GE(refused, 9);
}

TEST(Conv2dCallTest, KeepsAPackedFilterOfTheSameVersion) {
  const Conv2dSpec spec = Small();
  Conv2dRunner runner(spec, "gemm");
  const Tensor x = IntegerTensor(spec.dtype, spec.InputShape(), 1);
  const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
  const Tensor w = IntegerTensor(spec.dtype, spec.FilterShape(), 2);
  const Tensor other = IntegerTensor(spec.dtype, spec.FilterShape(), 3);
  runner.Forward(x, w, y, {}, 5);
  const std::vector<double> expected = Values(y);
  runner.Forward(x, other, y, {}, 5);
  EXPECT_TRUE(Close(Values(y), expected, 0));
}

TEST(Conv2dCallTest, VersionZeroIsKeptByNoCall) {
  for (const std::string_view variant : {"gemm", "i2c", "direct", "winograd"}) {
    const Conv2dSpec spec = SmallFor(variant);
    const Tensor ones = testing::OnesTensor(spec.dtype, spec.FilterShape());
    const Tensor zeros = ZeroTensor(spec.dtype, spec.FilterShape());
    const Tensor x = testing::OnesTensor(spec.dtype, spec.InputShape());
    const Tensor y = testing::OnesTensor(spec.dtype, spec.OutputShape());
    Conv2dRunner runner(spec, WhereSupported(variant, spec));
    for (const Tensor& filter : {ones, zeros}) {
      const bool any = filter.data<float>()[0] != 0;
      runner.Forward(x, filter, y, {}, 0);
      EXPECT_EQ(Values(y)[0] != 0, any) << variant;
      const Tensor dy = testing::OnesTensor(spec.dtype, spec.OutputShape());
      const Tensor dx = testing::OnesTensor(spec.dtype, spec.InputShape());
      runner.BackwardData(dy, filter, dx, false, 0);
      EXPECT_EQ(Values(dx)[0] != 0, any) << variant;
    }
  }
}

// Other memory has nothing of what the first had, whatever the version.
TEST(Conv2dCallTest, KeepsInNewMemoryWhatIsDerivedAnew) {
  const Conv2dSpec spec = Small();
  Conv2dRunner runner(spec, "gemm");
  const Tensor x = IntegerTensor(spec.dtype, spec.InputShape(), 1);
  const Tensor w = IntegerTensor(spec.dtype, spec.FilterShape(), 2);
  const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
  const Tensor dx = ZeroTensor(spec.dtype, spec.InputShape());
  const auto run = [&] {
    runner.Forward(x, w, y, {}, 5);
    runner.BackwardData(y, w, dx, false, 5);
    std::vector<double> results = Values(y);
    for (const double value : Values(dx)) results.push_back(value);
    return results;
  };
  const std::vector<double> expected = run();
  std::shared_ptr<Buffer> kept = *Buffer::Allocate(Device::Cpu(), runner.conv().kept_bytes());
  std::fill_n(kept->data(), kept->size(), std::byte{0xff});
  ASSERT_EQ(runner.conv().Keep(kept), absl::OkStatus());
  EXPECT_EQ(run(), expected);
}

TEST(Conv2dCallTest, RefusesAWorkspaceThatIsAByteShortInEveryDirection) {
  const Conv2dSpec spec = Small();
  const Tensor x = ZeroTensor(spec.dtype, spec.InputShape());
  const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
  const Tensor w = ZeroTensor(spec.dtype, spec.FilterShape());
  Conv2dRunner runner(spec, "gemm");
  const Workspace all = runner.Dirty();
  for (const Workspace workspace : {all.first(all.size() - 1), Workspace()}) {
    for (const absl::Status& status :
         {runner.conv().Forward(x, {w, 0}, y, {}, workspace),
          runner.conv().BackwardData(y, {w, 0}, x, false, workspace),
          runner.conv().BackwardFilter(x, y, w, Tensor(), false, workspace)}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(std::string(status.message()).find("the workspace has "), std::string::npos)
          << status;
    }
  }
}

// The last batch of an epoch may have fewer pixels than there are partial sums.
TEST(Conv2dCallTest, GradientOfFewPixelsOfAPrimitiveForMany) {
  for (const std::string_view variant : Conv2dVariantNames()) {
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      Conv2dSpec spec = SmallFor(variant);
      spec.format = format;
      spec.batch = 600, spec.height = spec.width = 2;
      Conv2dRunner runner(spec, WhereSupported(variant, spec));
      spec.batch = 1;
      const Tensor x = IntegerTensor(spec.dtype, spec.InputShape(), 1);
      const Tensor dy = IntegerTensor(spec.dtype, spec.OutputShape(), 2);
      const Tensor dw = ZeroTensor(spec.dtype, spec.FilterShape());
      const Tensor dbias = ZeroTensor(spec.dtype, {spec.filters});
      runner.BackwardFilter(x, dy, dw, dbias);
      // Integers, of which a transformed sum rounds.
      const double error = Conv2dError(variant, spec, conv::Direction::kBackwardFilter);
      EXPECT_TRUE(Close(Values(dw), reference::Conv2dBackwardFilter(spec, Values(x), Values(dy)),
                        error > 1 ? 1e-4 : 0));
      EXPECT_EQ(Values(dbias), reference::Conv2dBackwardBias(spec, Values(dy)));
    }
  }
}

// A range of the filters of a wider tensor is not a dense filter: its neighbours would be read as
// its own elements, and overwritten by its gradient.
TEST(Conv2dCallTest, RefusesFiltersWithAPitch) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    Conv2dSpec spec = Small();
    spec.format = format;
    Conv2dRunner runner(spec, "gemm");
    const Tensor x = ZeroTensor(spec.dtype, spec.InputShape());
    const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
    const Tensor filter = Pitched(ZeroTensor(spec.dtype, spec.FilterShape()), format);
    for (const absl::Status& status :
         {runner.conv().Forward(x, {filter, 0}, y, {}, runner.Dirty()),
          runner.conv().BackwardData(y, {filter, 0}, x, false, runner.Dirty()),
          runner.conv().BackwardFilter(x, y, filter, Tensor(), false, runner.Dirty())}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(std::string(status.message()).find("pitched; expected"), std::string::npos)
          << status;
    }
  }
}

TEST(Conv2dCallTest, RefusesOperandsOfAnotherDevice) {
  const Conv2dSpec spec = Small();
  const Tensor x = ZeroTensor(spec.dtype, spec.InputShape());
  const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
  const Tensor w = ZeroTensor(spec.dtype, spec.FilterShape());
  EXPECT_TRUE(CheckConv2dForward(spec, Device::Cpu(), x, w, y, {}).ok());
  const Device gpu = Device::Cuda(0);
  for (const absl::Status& status :
       {CheckConv2dForward(spec, gpu, x, w, y, {}), CheckConv2dBackwardData(spec, gpu, y, w, x),
        CheckConv2dBackwardFilter(spec, gpu, x, y, w, Tensor())}) {
    EXPECT_NE(std::string(status.message()).find("on cuda:0"), std::string::npos) << status;
  }
}

TEST(Conv2dCallTest, RefusesOperandsThatDoNotFit) {
  const Conv2dSpec spec = Small();
  Conv2dRunner runner(spec, "gemm");
  const Tensor x = ZeroTensor(spec.dtype, spec.InputShape());
  const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
  const Tensor w = ZeroTensor(spec.dtype, spec.FilterShape());
  const Tensor two = ZeroTensor(spec.dtype, spec.OutputShape().DropFirst().Prepend(2));
  const Tensor five = ZeroTensor(spec.dtype, spec.InputShape().DropFirst().Prepend(5));
  const auto message = [&](const Tensor& a, const Tensor& filter, const Tensor& b,
                           Workspace workspace) {
    return std::string(runner.conv().Forward(a, {filter, 0}, b, {}, workspace).message());
  };
  EXPECT_NE(message(x, w, two, runner.Dirty()).find("y has shape"), std::string::npos);
  EXPECT_NE(message(five, w, y, runner.Dirty()).find("x has 5 images"), std::string::npos);
  EXPECT_NE(message(x, x, y, runner.Dirty()).find("the filter"), std::string::npos);
  EXPECT_NE(message(Tensor(), w, y, runner.Dirty()).find("x is missing"), std::string::npos);
  EXPECT_NE(message(x, w, y, {}).find("workspace"), std::string::npos);
  const std::shared_ptr<Buffer> memory =
      *Buffer::Allocate(Device::Cpu(), runner.conv().workspace_bytes() + 16);
  const Workspace unaligned = {memory->data() + 16, runner.conv().workspace_bytes()};
  EXPECT_NE(message(x, w, y, unaligned).find("must be a multiple of 64"), std::string::npos);
}

// Each operand of each direction: one that is missing, of another shape, of another type.
TEST(Conv2dCallTest, RefusesEachOperandThatDoesNotFit) {
  Conv2dSpec spec = Small();
  spec.epilogue = {.bias = true, .scale = true, .add = true};
  struct Operands {
    Tensor images[2], filter, scale, bias, addend;
  };
  const auto good = [&] {
    const auto zeros = [](const Shape& shape) { return ZeroTensor(DType::kFloat32, shape); };
    return Operands{{zeros(spec.InputShape()), zeros(spec.OutputShape())},
                    zeros(spec.FilterShape()),
                    zeros({spec.filters}),
                    zeros({spec.filters}),
                    zeros(spec.OutputShape())};
  };
  const auto forward = [&](const Operands& o) {
    EpilogueOperands operands;
    operands.scale = o.scale, operands.bias = o.bias, operands.addend = o.addend;
    return CheckConv2dForward(spec, Device::Cpu(), o.images[0], o.filter, o.images[1], operands);
  };
  const auto data = [&](const Operands& o) {
    return CheckConv2dBackwardData(spec, Device::Cpu(), o.images[1], o.filter, o.images[0]);
  };
  const auto filter = [&](const Operands& o) {
    return CheckConv2dBackwardFilter(spec, Device::Cpu(), o.images[0], o.images[1], o.filter,
                                     o.bias);
  };
  const auto expect_refused = [&](const auto& check, const auto& operand, const char* name,
                                  bool may_be_missing = false) {
    Operands operands = good();
    EXPECT_EQ(check(operands), absl::OkStatus());
    Tensor& tensor = operand(operands);
    std::vector<Tensor> others = {
        ZeroTensor(DType::kFloat64, tensor.shape()),
        ZeroTensor(DType::kFloat32, tensor.shape().DropFirst().Prepend(tensor.shape()[0] - 1)),
        ZeroTensor(DType::kFloat32, tensor.shape().Prepend(1))};
    if (!may_be_missing) others.push_back(Tensor());
    for (const Tensor& other : others) {
      tensor = other;
      const absl::Status status = check(operands);
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
      EXPECT_NE(std::string(status.message()).find(name), std::string::npos) << status;
    }
  };
  const auto input = [](Operands& o) -> Tensor& { return o.images[0]; };
  const auto output = [](Operands& o) -> Tensor& { return o.images[1]; };
  const auto weights = [](Operands& o) -> Tensor& { return o.filter; };
  const auto scale = [](Operands& o) -> Tensor& { return o.scale; };
  const auto bias = [](Operands& o) -> Tensor& { return o.bias; };
  const auto addend = [](Operands& o) -> Tensor& { return o.addend; };
  expect_refused(forward, output, "y");
  expect_refused(forward, weights, "the filter");
  expect_refused(forward, scale, "the epilogue's scale");
  expect_refused(forward, bias, "the epilogue's bias");
  expect_refused(forward, addend, "the epilogue's addend");
  expect_refused(data, output, "dy");
  expect_refused(data, weights, "the filter");
  expect_refused(filter, output, "dy");
  expect_refused(filter, weights, "dfilter");
  expect_refused(filter, bias, "dbias", /*may_be_missing=*/true);
  // A batch may be smaller, but is as large on both sides.
  expect_refused(forward, input, "");
  expect_refused(data, input, "");
  expect_refused(filter, input, "");
}

TEST(Conv2dCallTest, PaysForTheDirectionsOfItsUseAlone) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const Conv2dSpec spec = Small();
  const auto make = [&](const Conv2dUse& use) {
    return *CreateConv2d(*context, spec, "gemm", use);
  };
  const auto all = make({.keeps_filter = true});
  const auto forward =
      make({.directions = conv::Only(conv::Direction::kForward), .keeps_filter = true});
  EXPECT_GT(forward->kept_bytes(), 0u);
  EXPECT_GT(all->kept_bytes(), forward->kept_bytes());
  EXPECT_GT(all->workspace_bytes(), forward->workspace_bytes());
  EXPECT_EQ(make({.keeps_filter = false})->kept_bytes(), 0u);
  EXPECT_EQ(forward->variant(conv::Direction::kForward), "gemm");
  EXPECT_EQ(forward->variant(conv::Direction::kBackwardData), "");

  const Tensor x = ZeroTensor(spec.dtype, spec.InputShape());
  const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
  const Tensor w = ZeroTensor(spec.dtype, spec.FilterShape());
  const auto memory = *Buffer::Allocate(Device::Cpu(), all->workspace_bytes());
  const Workspace workspace(memory->data(), memory->size());
  const absl::Status early = forward->Forward(x, {w, 1}, y, {}, workspace);
  EXPECT_EQ(early,
            absl::FailedPreconditionError("convolution: Keep was not called before it runs"));
  EXPECT_EQ(forward->Keep(*Buffer::Allocate(Device::Cpu(), forward->kept_bytes() - 1)).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(forward->Keep(*Buffer::Allocate(Device::Cpu(), forward->kept_bytes())),
            absl::OkStatus());
  EXPECT_EQ(forward->Forward(x, {w, 1}, y, {}, workspace), absl::OkStatus());
  const absl::Status refused = forward->BackwardData(y, {w, 1}, x, false, workspace);
  EXPECT_EQ(refused, absl::FailedPreconditionError(
                         "convolution: backward data: this primitive was not created for it"));
  EXPECT_EQ(forward->BackwardFilter(x, y, w, Tensor(), false, workspace).code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace dtnn

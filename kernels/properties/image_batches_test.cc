// What primitives of images promise of a batch: each image is computed as if it were alone, a batch
// may have fewer images than the primitive was made for, or none, any operand may have a pitch, and
// the bits are the same on any number of threads.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/channel_pick/channel_pick.h"
#include "kernels/channel_scale/channel_scale.h"
#include "kernels/channel_softmax/channel_softmax.h"
#include "kernels/device/context.h"
#include "kernels/group_norm/group_norm.h"
#include "kernels/image_slice/image_slice.h"
#include "kernels/pad/pad.h"
#include "kernels/pixel_product/pixel_product.h"
#include "kernels/pool/adaptive_pool.h"
#include "kernels/resize/resize.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/fenced.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::FencedWorkspace;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;
using Tensors = std::span<const Tensor>;

constexpr int64_t kBatch = 5;
constexpr ImageExtents kImage = {13, 9, 20};

class ImageBatchesTest : public ::testing::TestWithParam<std::tuple<TensorFormat, DType>> {
 protected:
  // A call that makes `to` of `from`.
  using Call = std::function<absl::Status(Tensors from, const Tensor& to)>;

  TensorFormat format() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  Shape Batch(const ImageExtents& image, int64_t images = kBatch) const {
    return SampleShape(image, format()).Prepend(images);
  }
  Tensor Images(const Tensor& batch, int64_t first, int64_t count) const {
    return batch.Samples(first, count, format());
  }
  // `make` makes the call anew.
  void Check(const std::string& name, const std::vector<ImageExtents>& from, const ImageExtents& to,
             const std::function<Call()>& make) const {
    SCOPED_TRACE(name);
    std::vector<Tensor> inputs;
    for (const ImageExtents& image : from) {
      inputs.push_back(RandomTensor(dtype(), Batch(image), 1 + inputs.size()));
    }
    const auto part = [&](int64_t first, int64_t count) {
      std::vector<Tensor> images;
      for (const Tensor& input : inputs) images.push_back(Images(input, first, count));
      return images;
    };
    const Tensor whole = ZeroTensor(dtype(), Batch(to));
    const Call call = make();
    ASSERT_EQ(call(inputs, whole), absl::OkStatus());
    for (const int64_t count : {1, 2}) {
      for (int64_t first = 0; first + count <= kBatch; ++first) {
        const Tensor some = ZeroTensor(dtype(), Batch(to, count));
        ASSERT_EQ(call(part(first, count), some), absl::OkStatus());
        EXPECT_EQ(Values(some, format()), Values(Images(whole, first, count), format()))
            << count << " from image " << first << " on";
      }
    }
    EXPECT_EQ(call(part(0, 0), ZeroTensor(dtype(), Batch(to, 0))), absl::OkStatus());
    for (size_t i = 0; i <= inputs.size(); ++i) {
      std::vector<Tensor> given = inputs;
      Tensor result = ZeroTensor(dtype(), Batch(to));
      Tensor& pitched = i < inputs.size() ? given[i] : result;
      pitched = testing::Pitched(pitched, format());
      EXPECT_EQ(call(given, result), absl::OkStatus());
      EXPECT_EQ(Values(result, format()), Values(whole, format())) << "operand " << i << " pitched";
    }
    for (const int threads : {1, 3}) {
      SetNumThreads(threads);
      const Tensor again = ZeroTensor(dtype(), Batch(to));
      EXPECT_EQ(make()(inputs, again), absl::OkStatus());
      EXPECT_EQ(Values(again, format()), Values(whole, format())) << threads << " threads";
    }
    SetNumThreads(2);
  }

  const std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(ImageBatchesTest, Pad) {
  for (const PadMode mode : {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge}) {
    const PadSpec spec = {.image = kImage,
                          .top = 1,
                          .bottom = 2,
                          .left = 3,
                          .right = 0,
                          .mode = mode,
                          .value = 2,
                          .format = format(),
                          .dtype = dtype()};
    const auto made = [&] { return std::shared_ptr<Pad>(*CreatePad(*context_, spec)); };
    Check("forward", {kImage}, spec.output(), [&]() -> Call {
      return [pad = made()](Tensors from, const Tensor& to) { return pad->Forward(from[0], to); };
    });
    Check("backward", {spec.output()}, kImage, [&]() -> Call {
      return [pad = made()](Tensors from, const Tensor& to) {
        return pad->Backward(from[0], to, false);
      };
    });
  }
}

TEST_P(ImageBatchesTest, ImageSlice) {
  for (const int64_t step : {1, 2}) {
    const ImageSliceSpec spec = {.image = kImage,
                                 .begin = {1, 0},
                                 .count = {2, 3},
                                 .step = {1, step},
                                 .format = format(),
                                 .dtype = dtype()};
    const auto made = [&] {
      return std::shared_ptr<ImageSlice>(*CreateImageSlice(*context_, spec));
    };
    Check("forward", {kImage}, spec.output(), [&]() -> Call {
      return [op = made()](Tensors from, const Tensor& to) { return op->Forward(from[0], to); };
    });
    Check("backward", {spec.output()}, kImage, [&]() -> Call {
      return [op = made()](Tensors from, const Tensor& to) {
        return op->Backward(from[0], to, false);
      };
    });
  }
}

TEST_P(ImageBatchesTest, ChannelScale) {
  const auto made = [&] {
    return std::shared_ptr<ChannelScale>(*CreateChannelScale(*context_, {format(), dtype()}));
  };
  const ImageExtents factors = {1, 1, kImage.channels};
  Check("multiply", {kImage, factors}, kImage, [&]() -> Call {
    return [scale = made()](Tensors from, const Tensor& to) {
      return scale->Multiply(from[0], from[1], to, false);
    };
  });
  Check("reduce", {kImage, kImage}, factors, [&]() -> Call {
    return [scale = made()](Tensors from, const Tensor& to) {
      return scale->Reduce(from[0], from[1], to, false);
    };
  });
}

TEST_P(ImageBatchesTest, ChannelSoftmax) {
  const ChannelSoftmaxSpec spec = {.channels = kImage.channels,
                                   .format = format(),
                                   .dtype = dtype(),
                                   .groups = 4,
                                   .narrow_result = true};
  const auto made = [&] {
    return std::shared_ptr<ChannelSoftmax>(*CreateChannelSoftmax(*context_, spec));
  };
  Check("forward", {kImage}, kImage, [&]() -> Call {
    return [op = made()](Tensors from, const Tensor& to) { return op->Forward(from[0], to); };
  });
  Check("backward", {kImage, kImage}, kImage, [&]() -> Call {
    return [op = made()](Tensors from, const Tensor& to) {
      return op->Backward(from[0], from[1], to, false);
    };
  });
}

TEST_P(ImageBatchesTest, GroupNorm) {
  for (const bool per_pixel : {false, true}) {
    const GroupNormSpec spec = {.batch = kBatch,
                                .positions = kImage.height * kImage.width,
                                .channels = kImage.channels,
                                .groups = 5,
                                .per_pixel = per_pixel,
                                .format = format(),
                                .dtype = dtype()};
    const DType wide = WideOf(dtype());
    const Tensor gamma = RandomTensor(wide, {kImage.channels}, 7);
    const Tensor beta = RandomTensor(wide, {kImage.channels}, 8);
    const Tensor dgamma = ZeroTensor(wide, {kImage.channels});
    const Tensor dbeta = ZeroTensor(wide, {kImage.channels});
    const auto made = [&] { return std::shared_ptr<GroupNorm>(*CreateGroupNorm(*context_, spec)); };
    Check("forward", {kImage}, kImage, [&]() -> Call {
      return [&, norm = made()](Tensors from, const Tensor& to) {
        return norm->Forward(from[0], gamma, beta, to);
      };
    });
    Check("backward", {kImage, kImage}, kImage, [&]() -> Call {
      return [&, norm = made()](Tensors from, const Tensor& to) {
        const FencedWorkspace memory(norm->workspace_bytes());
        return norm->Backward(from[0], from[1], gamma, to, false, dgamma, dbeta, memory);
      };
    });
  }
}

TEST_P(ImageBatchesTest, PixelProduct) {
  const PixelProductSpec spec = {.x = {5, 6, 8},
                                 .y = {3, 7, 8},
                                 .heads = 2,
                                 .factor = 0.5,
                                 .format = format(),
                                 .dtype = dtype()};
  const auto check = [&](const char* name, const std::vector<ImageExtents>& from,
                         const ImageExtents& to, auto call) {
    Check(name, from, to, [&]() -> Call {
      const std::shared_ptr<PixelProduct> product = *CreatePixelProduct(*context_, spec);
      return [product, call](Tensors inputs, const Tensor& output) {
        const FencedWorkspace memory(product->workspace_bytes());
        return call(*product, inputs, output, Workspace(memory));
      };
    });
  };
  check("scores", {spec.x, spec.y}, spec.s(),
        [](PixelProduct& p, Tensors from, const Tensor& to, Workspace memory) {
          return p.Scores(from[0], from[1], to, false, memory);
        });
  check("weigh", {spec.s(), spec.y}, spec.x,
        [](PixelProduct& p, Tensors from, const Tensor& to, Workspace memory) {
          return p.Weigh(from[0], from[1], to, false, memory);
        });
  check("gather", {spec.s(), spec.x}, spec.y,
        [](PixelProduct& p, Tensors from, const Tensor& to, Workspace memory) {
          return p.Gather(from[0], from[1], to, false, memory);
        });
}

TEST_P(ImageBatchesTest, ResizedAndPickedAndPooled) {
  const auto check = [&](const char* name, const ImageExtents& to, const auto& make) {
    Check(std::string(name) + " forward", {kImage}, to, [&]() -> Call {
      return [op = make()](Tensors from, const Tensor& y) { return op->Forward(from[0], y); };
    });
    Check(std::string(name) + " backward", {to}, kImage, [&]() -> Call {
      return [op = make()](Tensors from, const Tensor& dx) {
        return op->Backward(from[0], dx, false);
      };
    });
  };
  for (const ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear}) {
    const ResizeSpec spec = {.batch = kBatch,
                             .height = kImage.height,
                             .width = kImage.width,
                             .channels = kImage.channels,
                             .out_height = 17,
                             .out_width = 18,
                             .mode = mode,
                             .format = format(),
                             .dtype = dtype()};
    check("resize", {17, 18, kImage.channels},
          [&] { return std::shared_ptr<Resize>(*CreateResize(*context_, spec)); });
  }
  const ChannelPickSpec pick = {.channels = kImage.channels,
                                .begin = 3,
                                .count = 12,
                                .groups = 4,
                                .format = format(),
                                .dtype = dtype()};
  check("pick", {kImage.height, kImage.width, 12},
        [&] { return std::shared_ptr<ChannelPick>(*CreateChannelPick(*context_, pick)); });
  const AdaptivePoolSpec pool = {.batch = kBatch,
                                 .height = kImage.height,
                                 .width = kImage.width,
                                 .channels = kImage.channels,
                                 .out_height = 4,
                                 .out_width = 5,
                                 .format = format(),
                                 .dtype = dtype()};
  check("pool", {4, 5, kImage.channels},
        [&] { return std::shared_ptr<AdaptivePool>(*CreateAdaptivePool(*context_, pool)); });
}

INSTANTIATE_TEST_SUITE_P(
    , ImageBatchesTest,
    ::testing::Combine(::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64, DType::kBfloat16)));

}  // namespace
}  // namespace dtnn

// Every field of every spec on a CPU, refused where no primitive can be made for it, at both ends
// of what it may be. (That of convolutions: conv/conv2d_spec_test.cc.)

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/activation/activation.h"
#include "kernels/add/add.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/bias/bias.h"
#include "kernels/byte_images/byte_images.h"
#include "kernels/channel_pick/channel_pick.h"
#include "kernels/channel_scale/channel_scale.h"
#include "kernels/channel_softmax/channel_softmax.h"
#include "kernels/concat/concat.h"
#include "kernels/device/context.h"
#include "kernels/dropout/dropout.h"
#include "kernels/gemm/gemm.h"
#include "kernels/group_norm/group_norm.h"
#include "kernels/image_slice/image_slice.h"
#include "kernels/pad/pad.h"
#include "kernels/pixel_loss/pixel_loss.h"
#include "kernels/pixel_product/pixel_product.h"
#include "kernels/pool/adaptive_pool.h"
#include "kernels/pool/pool.h"
#include "kernels/resize/resize.h"
#include "kernels/softmax/softmax.h"
#include "kernels/update/update.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int64_t kMost = int64_t{1} << 24;  // of an extent

class SpecsTest : public ::testing::Test {
 protected:
  template <class Spec>
  using Changes = std::vector<std::function<void(Spec&)>>;

  // `spec` fits; so it does after each of the `good` changes, and after none of the `bad` ones.
  template <class Spec, class Create>
  void Expect(const Spec& spec, const Create& create, const Changes<Spec>& good,
              const Changes<Spec>& bad) {
    const auto status = [&](const std::function<void(Spec&)>& change) {
      Spec changed = spec;
      change(changed);
      return create(changed);
    };
    EXPECT_EQ(create(spec), absl::OkStatus());
    for (size_t i = 0; i < good.size(); ++i) {
      EXPECT_EQ(status(good[i]), absl::OkStatus()) << "good change " << i;
    }
    for (size_t i = 0; i < bad.size(); ++i) {
      EXPECT_EQ(status(bad[i]).code(), absl::StatusCode::kInvalidArgument) << "bad change " << i;
    }
  }
  // The types that CPUs compute with.
  template <class Spec, class Create>
  void ExpectTypes(Spec spec, const Create& create, bool half = true) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16, DType::kFloat16,
                              DType::kInt32, DType::kInt64, DType::kUint8}) {
      spec.dtype = dtype;
      const bool computes = dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
                            (half && dtype == DType::kBfloat16);
      EXPECT_EQ(create(spec).code(),
                computes ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument)
          << Name(dtype);
    }
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_F(SpecsTest, TypesAlone) {
  ExpectTypes(ActivationSpec(),
              [&](const auto& spec) { return CreateActivation(*context_, spec).status(); });
  ExpectTypes(AddSpec(), [&](const auto& spec) { return CreateAdd(*context_, spec).status(); });
  ExpectTypes(ConcatSpec(),
              [&](const auto& spec) { return CreateConcat(*context_, spec).status(); });
  ExpectTypes(ChannelScaleSpec(),
              [&](const auto& spec) { return CreateChannelScale(*context_, spec).status(); });
}

TEST_F(SpecsTest, Bias) {
  const auto create = [&](const BiasSpec& spec) { return CreateBias(*context_, spec).status(); };
  const BiasSpec spec = {.channels = 1};
  Expect<BiasSpec>(spec, create, {},
                   {[](auto& s) { s.channels = 0; }, [](auto& s) { s.channels = -1; }});
  ExpectTypes(spec, create);
}

TEST_F(SpecsTest, BatchNorm) {
  const auto create = [&](const BatchNormSpec& spec) {
    return CreateBatchNorm(*context_, spec).status();
  };
  const BatchNormSpec spec = {.batch = 2, .positions = 1, .channels = 1};
  Expect<BatchNormSpec>(spec, create,
                        {[](auto& s) { s.batch = 0; }, [](auto& s) { s.momentum = 0; },
                         [](auto& s) { s.momentum = 1; }, [](auto& s) { s.epsilon = 1e-300; }},
                        {[](auto& s) { s.batch = -1; }, [](auto& s) { s.positions = 0; },
                         [](auto& s) { s.channels = 0; }, [](auto& s) { s.epsilon = 0; },
                         [](auto& s) { s.epsilon = kNaN; }, [](auto& s) { s.momentum = -1e-9; },
                         [](auto& s) { s.momentum = 1.001; }, [](auto& s) { s.momentum = kNaN; }});
  ExpectTypes(spec, create);
}

TEST_F(SpecsTest, ByteImages) {
  const auto create = [&](const ByteImagesSpec& spec) {
    return CreateByteImages(*context_, spec, DType::kFloat32).status();
  };
  const auto table = [](const Shape& shape, DType dtype = DType::kFloat32) {
    return testing::ZeroTensor(dtype, shape);
  };
  const ByteImagesSpec spec = {.sample = {1, 1, 3}, .values = table({3, 256})};
  Expect<ByteImagesSpec>(
      spec, create,
      {[](auto& s) { s.changes = 64; }, [](auto& s) { s.sample.height = int64_t{1} << 30; },
       [](auto& s) { s.sample.width = int64_t{1} << 30; }},
      {[](auto& s) { s.sample.height = 0; }, [](auto& s) { s.sample.width = 0; },
       [](auto& s) { s.sample.channels = 0; },
       [](auto& s) { s.sample.height = (int64_t{1} << 30) + 1; },
       [](auto& s) { s.sample.width = (int64_t{1} << 30) + 1; }, [](auto& s) { s.changes = -1; },
       [](auto& s) { s.changes = 65; }, [](auto& s) { s.values = Tensor(); },
       [&](auto& s) {
         s.values = table({2, 256});
       },
       [&](auto& s) {
         s.values = table({3, 255});
       },
       [&](auto& s) { s.values = table({768}); },
       [&](auto& s) {
         s.values = table({3, 256}, DType::kInt32);
       },
       [&](auto& s) {
         s.values = table({3, 256}, DType::kFloat64);
       },
       [&](auto& s) {
         s.values = testing::Pitched(table({3, 256}), TensorFormat::kNHWC);
       }});
}

TEST_F(SpecsTest, ChannelPick) {
  const auto create = [&](const ChannelPickSpec& spec) {
    return CreateChannelPick(*context_, spec).status();
  };
  const ChannelPickSpec spec = {.channels = 8, .begin = 2, .count = 6, .groups = 3};
  Expect<ChannelPickSpec>(
      spec, create,
      {[](auto& s) { s.channels = kMost; }, [](auto& s) { s.begin = 0; },
       [](auto& s) { s.begin = 7, s.count = s.groups = 1; }, [](auto& s) { s.groups = 6; }},
      {[](auto& s) { s.channels = 7; }, [](auto& s) { s.channels = kMost + 1; },
       [](auto& s) { s.channels = 0; }, [](auto& s) { s.begin = -1; }, [](auto& s) { s.begin = 3; },
       [](auto& s) { s.begin = 8, s.count = s.groups = 1; },
       [](auto& s) { s.count = 0, s.groups = 1; }, [](auto& s) { s.count = 7, s.groups = 1; },
       [](auto& s) { s.groups = 0; }, [](auto& s) { s.groups = 4; }});
  ExpectTypes(spec, create);
}

TEST_F(SpecsTest, ChannelSoftmax) {
  const auto create = [&](const ChannelSoftmaxSpec& spec) {
    return CreateChannelSoftmax(*context_, spec).status();
  };
  const ChannelSoftmaxSpec spec = {.channels = 6, .groups = 2};
  Expect<ChannelSoftmaxSpec>(
      spec, create, {[](auto& s) { s.groups = 6; }, [](auto& s) { s.channels = s.groups = 1; }},
      {[](auto& s) { s.channels = 0; }, [](auto& s) { s.groups = 0; },
       [](auto& s) { s.groups = 4; }});
  ExpectTypes(spec, create);
}

TEST_F(SpecsTest, Dropout) {
  const auto create = [&](const DropoutSpec& spec) {
    return CreateDropout(*context_, spec).status();
  };
  Expect<DropoutSpec>({}, create, {[](auto& s) { s.rate = 0; }, [](auto& s) { s.rate = 1; }},
                      {[](auto& s) { s.rate = -0.001; }, [](auto& s) { s.rate = 1.001; },
                       [](auto& s) { s.rate = kNaN; }});
  ExpectTypes(DropoutSpec(), create);
}

TEST_F(SpecsTest, Gemm) {
  const auto create = [&](const GemmSpec& spec) { return CreateGemm(*context_, spec).status(); };
  const GemmSpec spec = {.m = 2, .n = 3, .k = 4};
  Expect<GemmSpec>(spec, create,
                   {[](auto& s) { s.m = 0; }, [](auto& s) { s.n = 0; }, [](auto& s) { s.k = 0; },
                    [](auto& s) { s.column_sums = s.transpose_a = true; },
                    [](auto& s) { s.epilogue.relu = true; }, [](auto& s) { s.accumulate = true; }},
                   {[](auto& s) { s.m = -1; }, [](auto& s) { s.n = -1; }, [](auto& s) { s.k = -1; },
                    [](auto& s) { s.accumulate = s.epilogue.relu = true; },
                    [](auto& s) { s.accumulate = s.epilogue.bias = true; },
                    [](auto& s) { s.accumulate = s.epilogue.scale = true; },
                    [](auto& s) { s.accumulate = s.epilogue.add = true; },
                    [](auto& s) { s.column_sums = s.accumulate = true; },
                    [](auto& s) { s.column_sums = s.transpose_b = true; },
                    [](auto& s) { s.tf32 = true, s.dtype = DType::kFloat64; }});
}

TEST_F(SpecsTest, GroupNorm) {
  const auto create = [&](const GroupNormSpec& spec) {
    return CreateGroupNorm(*context_, spec).status();
  };
  const GroupNormSpec spec = {.batch = 1, .positions = 1, .channels = 6, .groups = 3};
  Expect<GroupNormSpec>(
      spec, create, {[](auto& s) { s.groups = 6; }, [](auto& s) { s.epsilon = 1e-300; }},
      {[](auto& s) { s.batch = 0; }, [](auto& s) { s.positions = 0; },
       [](auto& s) { s.channels = 0; }, [](auto& s) { s.groups = 0; },
       [](auto& s) { s.groups = 4; }, [](auto& s) { s.epsilon = 0; },
       [](auto& s) { s.epsilon = kInfinite; }, [](auto& s) { s.epsilon = kNaN; }});
  ExpectTypes(spec, create);
}

TEST_F(SpecsTest, Pad) {
  const auto create = [&](const PadSpec& spec) { return CreatePad(*context_, spec).status(); };
  const PadSpec spec = {
      .image = {3, 3, 1}, .top = 2, .bottom = 2, .left = 2, .right = 2, .mode = PadMode::kReflect};
  const auto constant = [](PadSpec& s) { s.mode = PadMode::kConstant; };
  Expect<PadSpec>(
      spec, create,
      {[](auto& s) { s.top = s.bottom = s.left = s.right = 0; },
       [&](auto& s) { constant(s), s.top = s.bottom = s.left = s.right = kMost; },
       [](auto& s) { s.mode = PadMode::kEdge, s.top = s.bottom = s.left = s.right = 9; },
       [&](auto& s) { constant(s), s.value = -1e30; }},
      {[](auto& s) { s.image.height = 0; }, [](auto& s) { s.image.width = 0; },
       [](auto& s) { s.image.channels = 0; }, [](auto& s) { s.top = -1; },
       [](auto& s) { s.bottom = -1; }, [](auto& s) { s.left = -1; }, [](auto& s) { s.right = -1; },
       [](auto& s) { s.top = 3; }, [](auto& s) { s.bottom = 3; }, [](auto& s) { s.left = 3; },
       [](auto& s) { s.right = 3; }, [&](auto& s) { constant(s), s.top = kMost + 1; },
       [&](auto& s) { constant(s), s.bottom = kMost + 1; },
       [&](auto& s) { constant(s), s.left = kMost + 1; },
       [&](auto& s) { constant(s), s.right = kMost + 1; },
       [&](auto& s) { constant(s), s.value = kNaN; },
       [&](auto& s) { constant(s), s.value = -kInfinite; }});
  ExpectTypes(spec, create);
}

TEST_F(SpecsTest, ImageSlice) {
  const auto create = [&](const ImageSliceSpec& spec) {
    return CreateImageSlice(*context_, spec).status();
  };
  const ImageSliceSpec spec = {
      .image = {5, 7, 1}, .begin = {1, 2}, .count = {2, 2}, .step = {3, 4}};
  Expect<ImageSliceSpec>(
      spec, create,
      {[](auto& s) { s.begin = 0; },
       [](auto& s) {
         s.count = 1, s.begin = {4, 6};
       },
       [](auto& s) { s.count = 1, s.step = INT64_MAX; },
       [](auto& s) {
         s.begin = 0, s.count = {5, 7}, s.step = 1;
       }},
      {[](auto& s) { s.image.height = 0; }, [](auto& s) { s.image.width = 0; },
       [](auto& s) { s.image.channels = 0; }, [](auto& s) { s.begin.vertical = -1; },
       [](auto& s) { s.begin.horizontal = -1; }, [](auto& s) { s.begin.vertical = 2; },
       [](auto& s) { s.begin.horizontal = 3; }, [](auto& s) { s.count.vertical = 0; },
       [](auto& s) { s.count.horizontal = 0; }, [](auto& s) { s.count.vertical = 3; },
       [](auto& s) { s.count.horizontal = 3; }, [](auto& s) { s.count = INT64_MAX; },
       [](auto& s) { s.step.vertical = 0; }, [](auto& s) { s.step.horizontal = 0; },
       [](auto& s) { s.step.vertical = 4; }, [](auto& s) { s.step.horizontal = 5; },
       [](auto& s) { s.step = -1; }, [](auto& s) { s.step = INT64_MAX; }});
  ExpectTypes(spec, create);
}

TEST_F(SpecsTest, PixelLoss) {
  const auto create = [&](const PixelLossSpec& spec) {
    return CreatePixelLoss(*context_, spec).status();
  };
  const PixelLossSpec spec = {.images = 1, .image = {1, 1, 2}};
  Expect<PixelLossSpec>(
      spec, create,
      {[](auto& s) { s.label_smoothing = 0.999; }, [](auto& s) { s.image.channels = 1; },
       [](auto& s) {
         s.class_weights = {1, 2};
       }},
      {[](auto& s) { s.images = 0; }, [](auto& s) { s.image.height = 0; },
       [](auto& s) { s.image.width = 0; }, [](auto& s) { s.image.channels = 0; },
       [](auto& s) { s.label_smoothing = -0.001; }, [](auto& s) { s.label_smoothing = 1; },
       [](auto& s) { s.label_smoothing = kNaN; }, [](auto& s) { s.class_weights = {1}; },
       [](auto& s) {
         s.class_weights = {1, 2, 3};
       }});
  ExpectTypes(spec, create);
}

TEST_F(SpecsTest, PixelProduct) {
  const auto create = [&](const PixelProductSpec& spec) {
    return CreatePixelProduct(*context_, spec).status();
  };
  const PixelProductSpec spec = {.x = {1, 1, 4}, .y = {1, 1, 4}, .heads = 2};
  Expect<PixelProductSpec>(
      spec, create, {[](auto& s) { s.heads = 4; }, [](auto& s) { s.factor = -1e30; }},
      {[](auto& s) { s.x.height = 0; }, [](auto& s) { s.x.width = 0; },
       [](auto& s) { s.y.height = 0; }, [](auto& s) { s.y.width = 0; },
       [](auto& s) { s.x.channels = 2; }, [](auto& s) { s.y.channels = 2; },
       [](auto& s) { s.x.channels = s.y.channels = 0; }, [](auto& s) { s.heads = 0; },
       [](auto& s) { s.heads = 3; }, [](auto& s) { s.factor = kInfinite; },
       [](auto& s) { s.factor = kNaN; }});
  ExpectTypes(spec, create);
}

TEST_F(SpecsTest, Pool) {
  const auto valid = [](const PoolSpec& spec) { return spec.Validate(); };
  const PoolSpec spec = {.batch = 1, .height = 3, .width = 3, .channels = 1, .window = 3};
  Expect<PoolSpec>(
      spec, valid,
      {[](auto& s) { s.batch = kMost; }, [](auto& s) { s.height = kMost; },
       [](auto& s) { s.width = kMost; }, [](auto& s) { s.channels = kMost; },
       [](auto& s) { s.stride = kMost; }, [](auto& s) { s.padding = 2; },
       [](auto& s) { s.window = 1; }, [](auto& s) { s.height = s.width = 4096, s.window = 4096; },
       [](auto& s) { s.kind = PoolKind::kAverage, s.count_padding = true; },
       // The middle of every window is in the image.
       [](auto& s) { s.dilation = 3, s.padding = 3; }},
      {[](auto& s) { s.batch = 0; }, [](auto& s) { s.height = 0; }, [](auto& s) { s.width = 0; },
       [](auto& s) { s.channels = 0; }, [](auto& s) { s.batch = kMost + 1; },
       [](auto& s) { s.height = kMost + 1; }, [](auto& s) { s.width = kMost + 1; },
       [](auto& s) { s.channels = kMost + 1; },
       [](auto& s) {
         s.window = {0, 3};
       },
       [](auto& s) {
         s.window = {3, 0};
       },
       [](auto& s) {
         s.window = {4, 3};
       },
       [](auto& s) {
         s.window = {3, 4};
       },
       [](auto& s) { s.height = s.width = 5000, s.window = 4097; },
       [](auto& s) {
         s.stride = {0, 1};
       },
       [](auto& s) {
         s.stride = {1, 0};
       },
       [](auto& s) {
         s.stride = {1, kMost + 1};
       },
       [](auto& s) {
         s.stride = {kMost + 1, 1};
       },
       [](auto& s) {
         s.dilation = {0, 1};
       },
       [](auto& s) {
         s.dilation = {1, 0};
       },
       [](auto& s) {
         s.dilation = {1, kMost + 1};
       },
       [](auto& s) {
         s.padding = {-1, 0};
       },
       [](auto& s) {
         s.padding = {0, -1};
       },
       [](auto& s) {
         s.padding = {3, 0};
       },
       [](auto& s) {
         s.padding = {0, 3};
       },
       [](auto& s) { s.count_padding = true; },
       // Beyond the address space.
       [](auto& s) { s.batch = s.height = s.channels = kMost; }});
}

TEST_F(SpecsTest, AdaptivePool) {
  const auto valid = [](const AdaptivePoolSpec& spec) { return spec.Validate(); };
  const AdaptivePoolSpec spec = {
      .batch = 1, .height = 1, .width = 1, .channels = 1, .out_height = 1, .out_width = 1};
  for (int64_t AdaptivePoolSpec::*const field :
       {&AdaptivePoolSpec::batch, &AdaptivePoolSpec::height, &AdaptivePoolSpec::width,
        &AdaptivePoolSpec::channels, &AdaptivePoolSpec::out_height, &AdaptivePoolSpec::out_width}) {
    Expect<AdaptivePoolSpec>(
        spec, valid, {[&](auto& s) { s.*field = kMost; }},
        {[&](auto& s) { s.*field = 0; }, [&](auto& s) { s.*field = kMost + 1; }});
  }
  Expect<AdaptivePoolSpec>(spec, valid, {},
                           {[](auto& s) { s.batch = s.height = s.width = kMost; },
                            [](auto& s) { s.batch = s.out_height = s.out_width = kMost; }});
}

TEST_F(SpecsTest, Resize) {
  const auto valid = [](const ResizeSpec& spec) { return spec.Validate(); };
  const ResizeSpec spec = {
      .batch = 1, .height = 1, .width = 1, .channels = 1, .out_height = 1, .out_width = 1};
  for (int64_t ResizeSpec::*const field :
       {&ResizeSpec::batch, &ResizeSpec::height, &ResizeSpec::width, &ResizeSpec::channels,
        &ResizeSpec::out_height, &ResizeSpec::out_width}) {
    Expect<ResizeSpec>(spec, valid, {[&](auto& s) { s.*field = kMost; }},
                       {[&](auto& s) { s.*field = 0; }, [&](auto& s) { s.*field = kMost + 1; }});
  }
  Expect<ResizeSpec>(spec, valid,
                     {[](auto& s) { s.align_corners = true, s.mode = ResizeMode::kLinear; }},
                     {[](auto& s) { s.align_corners = true; },
                      [](auto& s) { s.batch = s.height = s.width = kMost; },
                      [](auto& s) { s.batch = s.out_height = s.out_width = kMost; }});
}

TEST_F(SpecsTest, Softmax) {
  const auto create = [&](const SoftmaxSpec& spec) {
    return CreateSoftmax(*context_, spec).status();
  };
  const auto create_loss = [&](const SoftmaxSpec& spec) {
    return CreateSoftmaxCrossEntropy(*context_, spec).status();
  };
  const SoftmaxSpec spec = {.rows = 0, .columns = 1};
  const Changes<SoftmaxSpec> good = {[](auto& s) { s.label_smoothing = 0.999; }};
  const Changes<SoftmaxSpec> bad = {[](auto& s) { s.rows = -1; }, [](auto& s) { s.columns = 0; },
                                    [](auto& s) { s.label_smoothing = -0.001; },
                                    [](auto& s) { s.label_smoothing = 1; },
                                    [](auto& s) { s.label_smoothing = kNaN; }};
  Expect<SoftmaxSpec>(spec, create, good, bad);
  Expect<SoftmaxSpec>(spec, create_loss, good, bad);
  ExpectTypes(spec, create);
  ExpectTypes(spec, create_loss);
}

TEST_F(SpecsTest, Update) {
  const auto create = [&](const UpdateSpec& spec) {
    return CreateUpdate(*context_, spec).status();
  };
  for (double UpdateSpec::*const share :
       {&UpdateSpec::momentum, &UpdateSpec::rho, &UpdateSpec::beta1, &UpdateSpec::beta2,
        &UpdateSpec::average_decay}) {
    Expect<UpdateSpec>({}, create,
                       {[&](auto& s) { s.*share = 0; }, [&](auto& s) { s.*share = 0.999; }},
                       {[&](auto& s) { s.*share = -0.001; }, [&](auto& s) { s.*share = 1; },
                        [&](auto& s) { s.*share = kNaN; }});
  }
  for (double UpdateSpec::*const size : {&UpdateSpec::epsilon, &UpdateSpec::decay}) {
    Expect<UpdateSpec>({}, create,
                       {[&](auto& s) { s.*size = 0; }, [&](auto& s) { s.*size = 1e30; }},
                       {[&](auto& s) { s.*size = -1e-30; }, [&](auto& s) { s.*size = kInfinite; },
                        [&](auto& s) { s.*size = kNaN; }});
  }
  const auto without = [](std::vector<ArenaRange> ranges) {
    return [ranges](UpdateSpec& s) { s.without_decay = ranges; };
  };
  Expect<UpdateSpec>({}, create, {without({{0, 4}, {4, 4}, {4, 9}})},
                     {without({{-1, 4}}), without({{3, 2}}), without({{0, 4}, {3, 9}}),
                      without({{4, 9}, {0, 4}})});
  ExpectTypes(UpdateSpec(), create, /*half=*/false);
}

}  // namespace
}  // namespace dtnn

// As random_test.cc, for the primitives that take images alone.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/channel_pick/channel_pick.h"
#include "kernels/channel_pick/reference.h"
#include "kernels/channel_scale/channel_scale.h"
#include "kernels/channel_scale/reference.h"
#include "kernels/channel_softmax/channel_softmax.h"
#include "kernels/device/context.h"
#include "kernels/group_norm/group_norm.h"
#include "kernels/group_norm/reference.h"
#include "kernels/pad/pad.h"
#include "kernels/pad/reference.h"
#include "kernels/pixel_product/pixel_product.h"
#include "kernels/pixel_product/reference.h"
#include "kernels/resize/reference.h"
#include "kernels/resize/resize.h"
#include "kernels/softmax/reference.h"
#include "tensor/text/str_cat.h"
#include "tools/testing/random_cases.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::RandomCase;
using testing::RandomCases;
using testing::SumTolerance;
using testing::Values;
using Doubles = std::vector<double>;

constexpr int64_t kCases = 40;

class RandomImagesTest : public ::testing::Test {
 protected:
  // What a case draws first, and names.
  struct Drawn {
    explicit Drawn(RandomCase& random)
        : random(random),
          format(random.Format()),
          dtype(random.Floating()),
          images(random.Between(1, 4)),
          image{random.Between(1, 9), random.Between(1, 9), random.Between(1, 40)},
          accumulate(random.Flip()) {
      if (random.Seldom(8)) image.width *= 7, image.height *= 5;  // work for several threads
    }
    void Name(const std::string& more) const {
      random.Name(StrCat(dtnn::Name(dtype), " ", dtnn::Name(format), " ", images, " of ",
                         ToString(image), accumulate ? " accumulated " : " ", more));
      random.SetThreads();
    }
    Tensor Images(const ImageExtents& extents) const {
      return random.Operand(dtype, SampleShape(extents, format).Prepend(images), format);
    }
    Tensor Vector(int64_t count) const { return random.Dense(dtype, {count}); }
    Doubles Of(const Tensor& tensor) const { return Values(tensor, format); }
    // The error of a sum of so many products; integers are exact.
    double Tolerance(int64_t terms) const {
      return random.integers() ? 0 : 2 * SumTolerance(dtype, terms);
    }
    bool planes() const { return format == TensorFormat::kNCHW; }
    int64_t pixels() const { return image.height * image.width; }
    size_t At(const ImageExtents& e, int64_t n, int64_t row, int64_t column, int64_t c) const {
      return size_t(planes() ? ((n * e.channels + c) * e.height + row) * e.width + column
                             : ((n * e.height + row) * e.width + column) * e.channels + c);
    }

    RandomCase& random;
    TensorFormat format;
    DType dtype;
    int64_t images;
    ImageExtents image;
    bool accumulate;
  };
  static int64_t DivisorOf(RandomCase& random, int64_t number) {
    std::vector<int64_t> divisors;
    for (int64_t i = 1; i <= number; ++i) {
      if (number % i == 0) divisors.push_back(i);
    }
    return random.PickFrom(divisors);
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_F(RandomImagesTest, PadsEqualTheirReference) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const Drawn drawn(*random);
    PadSpec spec = {.image = drawn.image,
                    .mode = random->Pick({PadMode::kConstant, PadMode::kReflect, PadMode::kEdge}),
                    .value = -3,
                    .format = drawn.format,
                    .dtype = drawn.dtype};
    const auto pad_of = [&](int64_t extent) {
      return random->Between(0, spec.mode == PadMode::kReflect ? extent - 1 : 6);
    };
    spec.top = pad_of(spec.image.height), spec.bottom = pad_of(spec.image.height);
    spec.left = pad_of(spec.image.width), spec.right = pad_of(spec.image.width);
    drawn.Name(
        StrCat(Name(spec.mode), " ", spec.top, " ", spec.bottom, " ", spec.left, " ", spec.right));
    const ImageExtents padded = spec.output();
    const auto pad = *CreatePad(*context_, spec);
    const Tensor x = drawn.Images(spec.image), y = drawn.Images(padded);
    const Tensor dy = drawn.Images(padded), dx = drawn.Images(spec.image);
    const Doubles from = drawn.Of(x), gradient = drawn.Of(dy);
    Doubles to(gradient.size()), back = drawn.Of(dx);
    if (!drawn.accumulate) std::ranges::fill(back, 0);
    const auto rows = reference::PadIndices(spec.image.height, spec.top, spec.bottom, spec.mode);
    const auto columns = reference::PadIndices(spec.image.width, spec.left, spec.right, spec.mode);
    for (int64_t n = 0; n < drawn.images; ++n) {
      for (int64_t c = 0; c < spec.image.channels; ++c) {
        for (int64_t row = 0; row < padded.height; ++row) {
          for (int64_t column = 0; column < padded.width; ++column) {
            const int64_t r = rows[size_t(row)], s = columns[size_t(column)];
            const size_t at = drawn.At(padded, n, row, column, c);
            to[at] = r < 0 || s < 0 ? spec.value : from[drawn.At(spec.image, n, r, s, c)];
            if (r >= 0 && s >= 0) back[drawn.At(spec.image, n, r, s, c)] += gradient[at];
          }
        }
      }
    }
    ASSERT_EQ(pad->Forward(x, y), absl::OkStatus());
    ASSERT_EQ(drawn.Of(y), to);
    ASSERT_EQ(pad->Backward(dy, dx, drawn.accumulate), absl::OkStatus());
    // The edge is read by all that is beyond it.
    ASSERT_TRUE(Close(drawn.Of(dx), back, 8 * drawn.Tolerance(50)));
  }
}

TEST_F(RandomImagesTest, ChannelScalesEqualTheirReference) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const Drawn drawn(*random);
    drawn.Name("");
    const ImageExtents factors = {1, 1, drawn.image.channels};
    const auto scale = *CreateChannelScale(*context_, {drawn.format, drawn.dtype});
    const reference::ScaledImages expected = {size_t(drawn.images), size_t(drawn.pixels()),
                                              size_t(drawn.image.channels), drawn.planes()};
    const Tensor x = drawn.Images(drawn.image), s = drawn.Images(factors);
    const Tensor y = drawn.Images(drawn.image), ds = drawn.Images(factors);
    Doubles product = drawn.Of(y), sums = drawn.Of(ds);
    reference::Multiply(expected, drawn.Of(x), drawn.Of(s), product, drawn.accumulate);
    ASSERT_EQ(scale->Multiply(x, s, y, drawn.accumulate), absl::OkStatus());
    ASSERT_TRUE(Close(drawn.Of(y), product, drawn.Tolerance(2)));
    reference::Reduce(expected, drawn.Of(x), drawn.Of(y), sums, drawn.accumulate);
    ASSERT_EQ(scale->Reduce(x, y, ds, drawn.accumulate), absl::OkStatus());
    const double tolerance = 4 * drawn.Tolerance(drawn.pixels());
    ASSERT_TRUE(Close(drawn.Of(ds), sums, tolerance, tolerance));
  }
}

TEST_F(RandomImagesTest, ChannelSoftmaxesEqualTheirReference) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const Drawn drawn(*random);
    const int64_t channels = drawn.image.channels, groups = DivisorOf(*random, channels);
    drawn.Name(StrCat(groups, " groups"));
    const auto softmax = *CreateChannelSoftmax(
        *context_,
        {.channels = channels, .format = drawn.format, .dtype = drawn.dtype, .groups = groups});
    const Tensor x = drawn.Images(drawn.image), y = drawn.Images(drawn.image);
    const Tensor dy = drawn.Images(drawn.image), dx = drawn.Images(drawn.image);
    ASSERT_EQ(softmax->Forward(x, y), absl::OkStatus());
    const Doubles from = drawn.Of(x), results = drawn.Of(y), gradient = drawn.Of(dy);
    Doubles to(from.size()), back = drawn.Of(dx);
    const auto of_group = [&](const Doubles& all, int64_t n, int64_t pixel, int64_t group) {
      Doubles some;
      for (int64_t c = group * channels / groups; c < (group + 1) * channels / groups; ++c) {
        some.push_back(
            all[drawn.At(drawn.image, n, pixel / drawn.image.width, pixel % drawn.image.width, c)]);
      }
      return some;
    };
    const auto set_group = [&](Doubles& all, int64_t n, int64_t pixel, int64_t group,
                               const Doubles& some) {
      const int64_t first = group * channels / groups;
      for (size_t c = 0; c < some.size(); ++c) {
        all[drawn.At(drawn.image, n, pixel / drawn.image.width, pixel % drawn.image.width,
                     first + int64_t(c))] = some[c];
      }
    };
    for (int64_t n = 0; n < drawn.images; ++n) {
      for (int64_t pixel = 0; pixel < drawn.pixels(); ++pixel) {
        for (int64_t group = 0; group < groups; ++group) {
          const Doubles logits = of_group(from, n, pixel, group);
          Doubles p(logits.size()), d = of_group(back, n, pixel, group);
          reference::SoftmaxForward(logits, p);
          set_group(to, n, pixel, group, p);
          reference::SoftmaxBackward(of_group(results, n, pixel, group),
                                     of_group(gradient, n, pixel, group), d, drawn.accumulate);
          set_group(back, n, pixel, group, d);
        }
      }
    }
    const double tolerance = 2 * SumTolerance(drawn.dtype, channels);
    ASSERT_TRUE(Close(results, to, tolerance));
    ASSERT_EQ(softmax->Backward(y, dy, dx, drawn.accumulate), absl::OkStatus());
    ASSERT_TRUE(Close(drawn.Of(dx), back, 8 * tolerance));
  }
}

TEST_F(RandomImagesTest, GroupNormsEqualTheirReference) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const Drawn drawn(*random);
    const int64_t channels = drawn.image.channels;
    const GroupNormSpec spec = {
        .batch = drawn.images + random->Between(0, 2),
        .positions = drawn.pixels(),
        .channels = channels,
        .groups = DivisorOf(*random, channels),
        .per_pixel = random->Flip(),
        .format = drawn.format,
        .dtype = drawn.dtype,
        .epsilon = 0.5};  // differences from a mean are divided by 0.7 at least
    const bool trains = random->Flip();
    drawn.Name(StrCat(spec.groups, " groups", spec.per_pixel ? " per pixel" : "",
                      trains ? " trained" : ""));
    const auto norm = *CreateGroupNorm(*context_, spec);
    const reference::GroupNorm expected = {
        size_t(drawn.images), size_t(drawn.pixels()), size_t(channels), size_t(spec.groups),
        spec.per_pixel,       drawn.planes(),         spec.epsilon};
    const Tensor x = drawn.Images(drawn.image), y = drawn.Images(drawn.image);
    const Tensor dy = drawn.Images(drawn.image), dx = drawn.Images(drawn.image);
    const Tensor gamma = drawn.Vector(channels), beta = drawn.Vector(channels);
    const Tensor dgamma = trains ? drawn.Vector(channels) : Tensor(),
                 dbeta = trains ? drawn.Vector(channels) : Tensor();
    const double tolerance =
        400 * SumTolerance(drawn.dtype, drawn.images * drawn.pixels() * channels);
    ASSERT_EQ(norm->Forward(x, gamma, beta, y), absl::OkStatus());
    ASSERT_TRUE(
        Close(drawn.Of(y), expected.Forward(drawn.Of(x), Values(gamma), Values(beta)), tolerance));
    Doubles gammas, betas;
    Doubles back = expected.Backward(drawn.Of(x), drawn.Of(dy), Values(gamma), gammas, betas);
    const Doubles before = drawn.Of(dx);
    for (size_t i = 0; i < back.size() && drawn.accumulate; ++i) back[i] += before[i];
    ASSERT_EQ(norm->Backward(x, dy, gamma, dx, drawn.accumulate, dgamma, dbeta,
                             random->Workspace(norm->workspace_bytes())),
              absl::OkStatus());
    ASSERT_TRUE(Close(drawn.Of(dx), back, tolerance));
    if (!trains) continue;
    ASSERT_TRUE(Close(Values(dgamma), gammas, 10 * tolerance, tolerance));
    ASSERT_TRUE(Close(Values(dbeta), betas, 10 * tolerance, tolerance));
  }
}

TEST_F(RandomImagesTest, PixelProductsEqualTheirReference) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const Drawn drawn(*random);
    const ImageExtents x_image = {random->Between(1, 6), random->Between(1, 6),
                                  drawn.image.channels};
    const PixelProductSpec spec = {
        .x = x_image,
        .y = {random->Between(1, 6), random->Between(1, 6), drawn.image.channels},
        .heads = DivisorOf(*random, drawn.image.channels),
        .factor = random->Pick({1.0, 0.5, -2.0}),
        .format = drawn.format,
        .dtype = drawn.dtype};
    drawn.Name(StrCat(ToString(spec.x), " ", ToString(spec.y), " ", spec.heads, " heads"));
    const auto product = *CreatePixelProduct(*context_, spec);
    const reference::PixelProductLoops expected = {spec, size_t(drawn.images)};
    const auto memory = random->Workspace(product->workspace_bytes());
    const Tensor x = drawn.Images(spec.x), y = drawn.Images(spec.y), s = drawn.Images(spec.s());
    const auto before = [&](const Tensor& tensor) {
      Doubles values = drawn.Of(tensor);
      if (!drawn.accumulate) std::ranges::fill(values, 0);
      return values;
    };
    // s is up to 40 * 32, and sums of integers are below 2^24 all the same.
    const double tolerance = 4 * drawn.Tolerance(40);
    Doubles scores = before(s);
    expected.Scores(drawn.Of(x), drawn.Of(y), scores);
    ASSERT_EQ(product->Scores(x, y, s, drawn.accumulate, memory), absl::OkStatus());
    ASSERT_TRUE(Close(drawn.Of(s), scores, tolerance, tolerance));
    Doubles weighed = before(x);
    expected.Weigh(drawn.Of(s), drawn.Of(y), weighed);
    ASSERT_EQ(product->Weigh(s, y, x, drawn.accumulate, memory), absl::OkStatus());
    ASSERT_TRUE(Close(drawn.Of(x), weighed, 100 * tolerance, tolerance));
    const Tensor other = drawn.Images(spec.x), to = drawn.Images(spec.y);
    Doubles gathered = before(to);
    expected.Gather(drawn.Of(s), drawn.Of(other), gathered);
    ASSERT_EQ(product->Gather(s, other, to, drawn.accumulate, memory), absl::OkStatus());
    ASSERT_TRUE(Close(drawn.Of(to), gathered, 100 * tolerance, tolerance));
  }
}

TEST_F(RandomImagesTest, ResizedAndPickedEqualTheirReferences) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const Drawn drawn(*random);
    ResizeSpec spec = {.batch = drawn.images,
                       .height = drawn.image.height,
                       .width = drawn.image.width,
                       .channels = drawn.image.channels,
                       .out_height = random->Between(1, 20),
                       .out_width = random->Between(1, 20),
                       .mode = random->Pick({ResizeMode::kNearest, ResizeMode::kLinear}),
                       .format = drawn.format,
                       .dtype = drawn.dtype};
    spec.align_corners = spec.mode == ResizeMode::kLinear && random->Flip();
    const int64_t channels = drawn.image.channels, begin = random->Between(0, channels - 1);
    const int64_t count = random->Between(1, channels - begin);
    const ChannelPickSpec pick = {.channels = channels,
                                  .begin = begin,
                                  .count = count,
                                  .groups = DivisorOf(*random, count),
                                  .format = drawn.format,
                                  .dtype = drawn.dtype};
    drawn.Name(StrCat(spec.out_height, "x", spec.out_width,
                      spec.mode == ResizeMode::kLinear ? " linear" : " nearest",
                      spec.align_corners ? " corners" : "", ", ", count, " from ", begin, " in ",
                      pick.groups));
    const auto check = [&](auto& op, const ImageExtents& out, const auto& forward,
                           const auto& backward, double tolerance) {
      const Tensor x = drawn.Images(drawn.image), y = drawn.Images(out);
      const Tensor dy = drawn.Images(out), dx = drawn.Images(drawn.image);
      ASSERT_EQ(op.Forward(x, y), absl::OkStatus());
      ASSERT_TRUE(Close(drawn.Of(y), forward(drawn.Of(x)), tolerance));
      Doubles back = backward(drawn.Of(dy));
      const Doubles before = drawn.Of(dx);
      for (size_t i = 0; i < back.size() && drawn.accumulate; ++i) back[i] += before[i];
      ASSERT_EQ(op.Backward(dy, dx, drawn.accumulate), absl::OkStatus());
      ASSERT_TRUE(Close(drawn.Of(dx), back, tolerance, tolerance));
    };
    const double rounding = 100 * SumTolerance(drawn.dtype, 400);
    check(
        **CreateResize(*context_, spec), {spec.out_height, spec.out_width, channels},
        [&](const Doubles& x) { return reference::ResizeForward(spec, x); },
        [&](const Doubles& dy) { return reference::ResizeBackward(spec, dy); },
        spec.mode == ResizeMode::kNearest && random->integers() ? 0 : rounding);
    const int64_t inner = drawn.planes() ? drawn.pixels() : 1;
    check(
        **CreateChannelPick(*context_, pick), {drawn.image.height, drawn.image.width, count},
        [&](const Doubles& x) { return reference::ChannelPickForward(pick, inner, x); },
        [&](const Doubles& dy) { return reference::ChannelPickBackward(pick, inner, dy); },
        drawn.Tolerance(2));
  }
}

}  // namespace
}  // namespace dtnn

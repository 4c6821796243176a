// Random calls of the primitives that have no sizes of their own, against their references, with a
// fence beside every operand (tools/testing/random_cases.h). Those that have, have such a test in
// their folders.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/activation/activation.h"
#include "kernels/activation/reference.h"
#include "kernels/add/add.h"
#include "kernels/add/reference.h"
#include "kernels/bias/bias.h"
#include "kernels/bias/reference.h"
#include "kernels/byte_images/byte_images.h"
#include "kernels/byte_images/reference.h"
#include "kernels/concat/concat.h"
#include "kernels/concat/reference.h"
#include "kernels/convert/convert.h"
#include "kernels/device/context.h"
#include "kernels/dropout/dropout.h"
#include "kernels/dropout/reference.h"
#include "kernels/softmax/reference.h"
#include "kernels/softmax/softmax.h"
#include "kernels/sum_of_squares/sum_of_squares.h"
#include "kernels/update/reference.h"
#include "kernels/update/update.h"
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

constexpr int64_t kCases = 100;

double Epsilon(DType dtype) {
  return dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                  : std::numeric_limits<double>::epsilon();
}

// The shape of a matrix or images; one in eight has work for several threads.
Shape RandomShape(RandomCase& random, TensorFormat format, int64_t channels) {
  const bool large = random.Seldom(8);
  if (random.Seldom(3)) return {random.Between(1, large ? 4000 : 40), channels};
  const int64_t n = random.Between(1, large ? 40 : 4), h = random.Between(1, 9);
  const int64_t w = random.Between(1, large ? 60 : 9);
  return format == TensorFormat::kNHWC ? Shape{n, h, w, channels} : Shape{n, channels, h, w};
}

std::string Describe(DType dtype, TensorFormat format, const Shape& shape) {
  return StrCat(Name(dtype), " ", Name(format), " ", shape.ToString());
}

// An activation seen as (outer, channels, inner), as the references do.
struct Planes {
  int64_t outer, channels, inner;
};
Planes PlanesOf(const Shape& shape, TensorFormat format) {
  const bool planes = shape.rank() == 4 && format == TensorFormat::kNCHW;
  const int64_t channels = shape[planes ? 1 : shape.rank() - 1];
  const int64_t inner = planes ? shape[2] * shape[3] : 1;
  return {shape.NumElements() / (channels * inner), channels, inner};
}

class RandomTest : public ::testing::Test {
 protected:
  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_F(RandomTest, ActivationsEqualTheirReference) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const ActivationSpec spec = {.kind = random->PickFrom(kActivationKinds),
                                 .format = random->Format(),
                                 .dtype = random->Floating()};
    const Shape shape = RandomShape(*random, spec.format, random->Between(1, 40));
    const bool accumulate = random->Flip();
    random->Name(
        StrCat(Name(spec.kind), " ", Describe(spec.dtype, spec.format, shape), " ", accumulate));
    random->SetThreads();
    const auto primitive = *CreateActivation(*context_, spec);
    const auto operand = [&] { return random->Operand(spec.dtype, shape, spec.format); };
    const auto of = [&](const Tensor& tensor) { return Values(tensor, spec.format); };

    const Tensor x = operand(), y = random->Seldom(4) ? x : operand();
    Doubles expected(of(x).size());
    reference::ActivationForward(spec.kind, of(x), expected);
    ASSERT_EQ(primitive->Forward(x, y), absl::OkStatus());
    // artanh of values beyond 1 is NaN, and infinite at 1.
    const bool finite = std::ranges::all_of(expected, [](double v) { return std::isfinite(v); });
    if (finite) {
      ASSERT_TRUE(Close(of(y), expected, 1e-37, 100 * Epsilon(spec.dtype)));
    }

    const Tensor outputs = operand(), dy = operand();
    const Tensor dx = !accumulate && random->Seldom(4) ? dy : operand();
    Doubles gradient = of(dx);
    reference::ActivationBackward(spec.kind, of(outputs), of(dy), gradient, accumulate);
    ASSERT_EQ(primitive->Backward(outputs, dy, dx, accumulate), absl::OkStatus());
    const double largest = std::abs(*std::ranges::max_element(
        gradient, [](double a, double b) { return std::abs(a) < std::abs(b); }));
    ASSERT_TRUE(Close(of(dx), gradient, 100 * Epsilon(spec.dtype) * (1 + largest)));
  }
}

TEST_F(RandomTest, SumsEqualTheirReference) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const AddSpec spec = {.format = random->Format(), .dtype = random->Floating()};
    const Shape shape = RandomShape(*random, spec.format, random->Between(1, 40));
    const bool accumulate = random->Flip();
    random->Name(StrCat(Describe(spec.dtype, spec.format, shape), " ", accumulate));
    random->SetThreads();
    std::vector<Tensor> inputs(size_t(random->Between(1, 6)));
    std::vector<Doubles> values;
    for (Tensor& input : inputs) {
      input = random->Operand(spec.dtype, shape, spec.format);
      values.push_back(Values(input, spec.format));
    }
    const Tensor y = random->Seldom(4) ? random->PickFrom(inputs)
                                       : random->Operand(spec.dtype, shape, spec.format);
    Doubles expected = Values(y, spec.format);
    reference::Add(values, expected, accumulate);
    ASSERT_EQ((*CreateAdd(*context_, spec))->Run(inputs, y, accumulate), absl::OkStatus());
    const double tolerance = random->integers() ? 0 : 4 * SumTolerance(spec.dtype, 7);
    ASSERT_TRUE(Close(Values(y, spec.format), expected, tolerance));
  }
}

TEST_F(RandomTest, BiasesEqualTheirReference) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const BiasSpec spec = {.channels = random->Between(1, 70),
                           .format = random->Format(),
                           .dtype = random->Floating()};
    const Shape shape = RandomShape(*random, spec.format, spec.channels);
    const bool accumulate = random->Flip();
    random->Name(StrCat(Describe(spec.dtype, spec.format, shape), " ", accumulate));
    random->SetThreads();
    const auto primitive = *CreateBias(*context_, spec);
    const auto [outer, channels, inner] = PlanesOf(shape, spec.format);
    const auto of = [&](const Tensor& tensor) { return Values(tensor, spec.format); };

    const Tensor x = random->Operand(spec.dtype, shape, spec.format);
    const Tensor bias = random->Dense(spec.dtype, {channels});
    const Tensor y = random->Seldom(4) ? x : random->Operand(spec.dtype, shape, spec.format);
    Doubles expected(of(x).size());
    reference::BiasForward(outer, channels, inner, of(x).data(), of(bias).data(), expected.data());
    ASSERT_EQ(primitive->Forward(x, bias, y), absl::OkStatus());
    ASSERT_TRUE(Close(of(y), expected, random->integers() ? 0 : SumTolerance(spec.dtype, 1)));

    const Tensor dy = random->Operand(spec.dtype, shape, spec.format);
    const Tensor dbias = random->Dense(spec.dtype, {channels});
    Doubles gradient = of(dbias);
    reference::BiasBackward(outer, channels, inner, of(dy).data(), gradient.data(), accumulate);
    ASSERT_EQ(primitive->Backward(dy, dbias, accumulate), absl::OkStatus());
    const double terms = double(outer * inner);
    ASSERT_TRUE(Close(of(dbias), gradient,
                      random->integers()
                          ? 0
                          : SumTolerance(spec.dtype, outer * inner) * (1 + .4 * std::sqrt(terms))));
  }
}

TEST_F(RandomTest, ConcatenationsEqualTheirReference) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const ConcatSpec spec = {.format = random->Format(), .dtype = random->Floating()};
    std::vector<int64_t> channels(size_t(random->Between(1, 5)));
    int64_t all = 0;
    for (int64_t& count : channels) all += count = random->Between(1, 20);
    const Shape shape = RandomShape(*random, spec.format, all);
    random->Name(Describe(spec.dtype, spec.format, shape));
    random->SetThreads();
    const auto primitive = *CreateConcat(*context_, spec);
    const auto planes = PlanesOf(shape, spec.format);
    const auto part_shape = [&](int64_t count) {
      if (shape.rank() == 2) return Shape{shape[0], count};
      return spec.format == TensorFormat::kNHWC ? Shape{shape[0], shape[1], shape[2], count}
                                                : Shape{shape[0], count, shape[2], shape[3]};
    };
    const Tensor y = random->Operand(spec.dtype, shape, spec.format);
    std::vector<Tensor> inputs, dx;
    std::vector<Doubles> values, gradients;
    int64_t first = 0;
    for (const int64_t count : channels) {
      // A view of y is not copied.
      inputs.push_back(random->Seldom(4)
                           ? y.Channels(first, count, spec.format)
                           : random->Operand(spec.dtype, part_shape(count), spec.format));
      first += count;
      dx.push_back(random->Operand(spec.dtype, part_shape(count), spec.format));
      values.push_back(Values(inputs.back(), spec.format));
      gradients.push_back(Values(dx.back(), spec.format));
    }
    ASSERT_EQ(primitive->Forward(inputs, y), absl::OkStatus());
    ASSERT_EQ(Values(y, spec.format),
              reference::Concat(planes.outer, planes.inner, channels, values));

    const bool accumulate[] = {random->Flip(), random->Flip(), random->Flip(), random->Flip(),
                               random->Flip()};
    ASSERT_EQ(primitive->Backward(y, dx, {accumulate, dx.size()}), absl::OkStatus());
    for (size_t i = 0; i < dx.size(); ++i) {
      for (size_t k = 0; k < gradients[i].size(); ++k) {
        gradients[i][k] = (accumulate[i] ? gradients[i][k] : 0) + values[i][k];
      }
      const double tolerance = random->integers() ? 0 : SumTolerance(spec.dtype, 1);
      ASSERT_TRUE(Close(Values(dx[i], spec.format), gradients[i], tolerance)) << i;
    }
  }
}

TEST_F(RandomTest, DropoutsEqualTheirReference) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const DropoutSpec spec = {.rate = double(random->Between(0, 4)) / 4,
                              .format = random->Format(),
                              .dtype = random->Floating()};
    const Shape shape = RandomShape(*random, spec.format, random->Between(1, 40));
    const bool accumulate = random->Flip();
    random->Name(StrCat(spec.rate, " ", Describe(spec.dtype, spec.format, shape), " ", accumulate));
    random->SetThreads();
    const Philox stream(uint64_t(random->Between(0, 1000)), StreamId(RandomPurpose::kDropout));
    const uint64_t offset = 4 * uint64_t(random->Between(0, 1000));
    const Tensor x = random->Operand(spec.dtype, shape, spec.format);
    const Tensor y =
        !accumulate && random->Seldom(4) ? x : random->Operand(spec.dtype, shape, spec.format);
    Doubles expected = Values(y, spec.format);
    const Doubles before = Values(x, spec.format);
    // Rate 1 yields zeros, where the formula would multiply by infinity.
    if (spec.rate == 1) {
      for (double& value : expected) value = accumulate ? value : 0;
    } else {
      const bool planes = spec.format == TensorFormat::kNCHW && shape.rank() == 4;
      reference::Dropout(spec.rate, stream, offset, before, expected, accumulate,
                         planes ? size_t(shape[1]) : 1, planes ? size_t(shape[2] * shape[3]) : 1);
    }
    ASSERT_EQ((*CreateDropout(*context_, spec))->Run(x, stream, offset, y, accumulate),
              absl::OkStatus());
    ASSERT_TRUE(
        Close(Values(y, spec.format), expected, 16 * Epsilon(spec.dtype), 4 * Epsilon(spec.dtype)));
  }
}

TEST_F(RandomTest, SoftmaxesEqualTheirReference) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const int64_t rows = random->Between(1, 60), columns = random->Between(1, 120);
    const SoftmaxSpec spec = {.rows = rows + random->Between(0, 3),
                              .columns = columns,
                              .dtype = random->Floating(),
                              .label_smoothing = random->Pick({0., .1})};
    const bool accumulate = random->Flip();
    random->Name(StrCat(Name(spec.dtype), " ", rows, " x ", columns, " ", accumulate));
    random->SetThreads();
    const Shape shape = {rows, columns};
    const auto operand = [&] { return random->Operand(spec.dtype, shape, TensorFormat::kNHWC); };
    const double tolerance = 64 * Epsilon(spec.dtype);
    const auto row = [&](auto& values, int64_t i) {
      return std::span(values).subspan(size_t(i * columns), size_t(columns));
    };

    const auto softmax = *CreateSoftmax(*context_, spec);
    const Tensor x = operand(), y = random->Seldom(4) ? x : operand();
    const Doubles in = Values(x);
    Doubles probabilities(in.size());
    for (int64_t i = 0; i < rows; ++i) {
      reference::SoftmaxForward(row(in, i), row(probabilities, i));
    }
    ASSERT_EQ(softmax->Forward(x, y), absl::OkStatus());
    ASSERT_TRUE(Close(Values(y), probabilities, 0, tolerance));

    const Tensor dy = operand(), dx = !accumulate && random->Seldom(4) ? dy : operand();
    const Doubles actual_y = Values(y), slopes = Values(dy);
    Doubles gradient = Values(dx);
    for (int64_t i = 0; i < rows; ++i) {
      reference::SoftmaxBackward(row(actual_y, i), row(slopes, i), row(gradient, i), accumulate);
    }
    ASSERT_EQ(softmax->Backward(y, dy, dx, accumulate), absl::OkStatus());
    ASSERT_TRUE(Close(Values(dx), gradient, 4 * tolerance));

    const auto loss = *CreateSoftmaxCrossEntropy(*context_, spec);
    const Tensor logits = operand(), labels = random->Dense(DType::kInt32, {rows});
    for (int64_t i = 0; i < rows; ++i) {
      labels.data<int32_t>()[i] = int32_t(random->Between(0, columns - 1));
    }
    const Tensor p = operand(), losses = random->Dense(spec.dtype, {rows});
    const Tensor slope = random->Seldom(4) ? Tensor() : random->Seldom(4) ? logits : operand();
    const Doubles scores = Values(logits);
    Doubles expected_losses = Values(losses), expected_slope(scores.size());
    for (int64_t i = 0; i < rows; ++i) {
      const size_t label = size_t(labels.data<int32_t>()[i]);
      reference::SoftmaxForward(row(scores, i), row(probabilities, i));
      expected_losses[size_t(i)] =
          reference::CrossEntropy(row(scores, i), label, spec.label_smoothing);
      reference::CrossEntropyGradient(row(probabilities, i), label, .25, row(expected_slope, i),
                                      spec.label_smoothing);
    }
    ASSERT_EQ(loss->Run(logits, labels, p, losses, slope, .25), absl::OkStatus());
    ASSERT_TRUE(Close(Values(p), probabilities, 0, tolerance));
    ASSERT_TRUE(Close(Values(losses), expected_losses, tolerance, tolerance));
    if (!slope.empty()) {
      ASSERT_TRUE(Close(Values(slope), expected_slope, tolerance));
    }
  }
}

TEST_F(RandomTest, SumsOfSquaresEqualTheirReference) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const DType dtype = random->Floating();
    const int64_t size = random->Between(0, random->Seldom(8) ? 200'000 : 100);
    random->Name(StrCat(Name(dtype), " ", size));
    random->SetThreads();
    const Tensor x = random->Dense(dtype, {size}), sum = random->Dense(DType::kFloat64, {1});
    long double expected = 0;  // a chain of so many roundings in double shows
    for (const double value : Values(x)) expected += (long double)(value)*value;
    const auto primitive = *CreateSumOfSquares(*context_, dtype);
    ASSERT_EQ(primitive->Queue(x, sum), absl::OkStatus());
    ASSERT_NEAR(Values(sum)[0], double(expected), 1e-13 * double(expected));
    ASSERT_EQ(*primitive->Run(x), Values(sum)[0]);
  }
}

TEST_F(RandomTest, UpdatesEqualTheirReference) {
  constexpr UpdateRule kRules[] = {UpdateRule::kSgd, UpdateRule::kRmsprop, UpdateRule::kAdam,
                                   UpdateRule::kNadam, UpdateRule::kAdamw};
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const int64_t size = random->Between(1, random->Seldom(8) ? 100'000 : 100);
    UpdateSpec spec = {.rule = random->PickFrom(kRules),
                       .momentum = random->Pick({0., .9}),
                       .epsilon = 1e-3,
                       .decay = random->Pick({0., .1}),
                       .average_decay = random->Pick({0., .9}),
                       .dtype = random->Floating()};
    spec.nesterov = spec.momentum > 0 && random->Flip();
    const int64_t from = random->Between(0, size - 1), to = random->Between(from, size);
    if (random->Flip()) spec.without_decay = {{from, to}};
    random->Name(StrCat(int(spec.rule), " ", Name(spec.dtype), " ", size));
    random->SetThreads();
    const Tensor w = random->Dense(spec.dtype, {size}), g = random->Dense(spec.dtype, {size});
    std::vector<Tensor> slots;
    Doubles moments[2] = {Doubles(size_t(size)), Doubles(size_t(size))}, average;
    for (int slot = 0; slot < spec.slots(); ++slot) {
      slots.push_back(random->Dense(spec.dtype, {size}));
      if (slot == spec.moments()) {
        average = Values(slots.back());
        continue;
      }
      moments[slot] = Values(slots.back());
      // Sums of squares are not negative.
      const bool squares = spec.rule == UpdateRule::kRmsprop || slot == 1;
      for (size_t i = 0; i < size_t(size) && squares; ++i) {
        moments[slot][i] = std::abs(moments[slot][i]);
        DispatchFloating(spec.dtype,
                         [&]<typename T>(T) { slots.back().data<T>()[i] = T(moments[slot][i]); });
      }
    }
    const UpdateStep step = {
        .learning_rate = .01, .step = random->Between(1, 50), .gradient_scale = .5};
    Doubles expected = Values(w);
    const Doubles gradients = Values(g);
    for (size_t i = 0; i < size_t(size); ++i) {
      const bool spared = !spec.without_decay.empty() && int64_t(i) >= from && int64_t(i) < to;
      reference::UpdateParameter(spec, step, !spared, gradients[i], expected[i], moments[0][i],
                                 moments[1][i]);
      if (!spec.averages()) continue;
      reference::UpdateAverage(spec, double(step.step), expected[i], average[i]);
    }
    ASSERT_EQ((*CreateUpdate(*context_, spec))->Run(w, g, slots, step), absl::OkStatus());
    // The first moment is divided by 1 - beta^step, which may be 0.01.
    ASSERT_TRUE(Close(Values(w), expected, 400 * Epsilon(spec.dtype), 16 * Epsilon(spec.dtype)));
    for (size_t slot = 0; slot < slots.size(); ++slot) {
      const Doubles& slot_expected = int(slot) == spec.moments() ? average : moments[slot];
      // An average follows the parameters, whose error it has.
      const double factor = int(slot) == spec.moments() ? 400 : 16;
      ASSERT_TRUE(Close(Values(slots[slot]), slot_expected, factor * Epsilon(spec.dtype),
                        16 * Epsilon(spec.dtype)));
    }
  }
}

TEST_F(RandomTest, ConvertedBytesEqualTheirProducts) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const int64_t size = random->Between(0, 300);
    const DType dtype = random->Floating();
    random->Name(StrCat(Name(dtype), " ", size));
    const Tensor bytes = random->Dense(DType::kUint8, {size}), y = random->Dense(dtype, {size});
    for (int64_t i = 0; i < size; ++i) bytes.data<uint8_t>()[i] = uint8_t(random->Between(0, 255));
    DispatchFloating(dtype, [&]<typename T>(T) {
      const T scale = T(.125);
      ConvertBytes({bytes.data<uint8_t>(), size_t(size)}, scale, {y.data<T>(), size_t(size)});
    });
    Doubles expected = Values(bytes);
    for (double& value : expected) value *= .125;
    ASSERT_EQ(Values(y), expected);
  }
}

TEST_F(RandomTest, ImagesOfBytesEqualTheirReference) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const DType dtype = random->Floating();
    ByteImagesSpec spec = {
        .sample = {random->Between(1, 12), random->Between(1, 40), random->Between(1, 4)},
        .from = random->Format(),
        .to = random->Format(),
        .changes = random->Between(0, 3)};
    spec.values = random->Dense(dtype, {spec.sample.channels, 256});
    const int64_t n = random->Between(1, random->Seldom(8) ? 100 : 5);
    random->Name(StrCat(Describe(dtype, spec.from, spec.bytes_shape(n)), " to ", Name(spec.to),
                        ", ", spec.changes, " changes"));
    random->SetThreads();
    const Tensor bytes = random->Dense(DType::kUint8, spec.bytes_shape(n));
    for (int64_t i = 0; i < bytes.num_elements(); ++i) {
      bytes.data<uint8_t>()[i] = uint8_t(random->Between(0, 255));
    }
    const Tensor changes = random->Dense(DType::kInt32, spec.changes_shape(n));
    auto* const first = reinterpret_cast<PixelChange*>(changes.raw_data());
    const int32_t height = int32_t(spec.sample.height), width = int32_t(spec.sample.width);
    const auto between = [&](int32_t low, int32_t high) {
      return int32_t(random->Between(low, high));
    };
    for (int64_t i = 0; i < n * spec.changes; ++i) {
      first[i].kind = PixelChange::Kind(between(PixelChange::kNone, PixelChange::kHide));
      first[i].top = between(-2, height + 1), first[i].bottom = between(-2, height + 1);
      first[i].left = between(-2, width + 1), first[i].right = between(-2, width + 1);
      first[i].down = between(1 - height, height - 1);
      first[i].across = between(1 - width, width - 1);
    }
    const Tensor y = random->Dense(dtype, spec.values_shape(n));
    Doubles expected(size_t(y.num_elements()));
    DispatchFloating(dtype, [&]<typename T>(T) {
      std::vector<T> of_type(expected.size());
      reference::ByteImages(spec, n, bytes.data<uint8_t>(), first, spec.values.data<T>(),
                            of_type.data());
      std::ranges::copy(of_type, expected.begin());
    });
    const auto primitive = *CreateByteImages(*context_, spec, dtype);
    ASSERT_EQ(primitive->Run(bytes, changes, y), absl::OkStatus());
    ASSERT_EQ(Values(y), expected);
  }
}

}  // namespace
}  // namespace dtnn

// ByteImages against its definition, bit for bit: on the CPU, on a simulated GPU, and on a real
// one; that is skipped, with the reason, where there is none.

#include "kernels/byte_images/byte_images.h"

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/byte_images/byte_twin.h"
#include "kernels/byte_images/reference.h"
#include "kernels/testing/gpu_testing.h"
#include "tensor/philox.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using ::testing::HasSubstr;
using testing::NaNTensor;
using testing::Put;
using testing::RandomTensor;
using testing::Values;

constexpr TensorFormat kFormats[] = {TensorFormat::kNHWC, TensorFormat::kNCHW};

class Numbers {
 public:
  explicit Numbers(uint64_t seed) : philox_(seed, 0) {}
  int64_t Below(int64_t bound) { return int64_t(Next() % uint64_t(bound)); }
  int64_t Between(int64_t low, int64_t high) { return low + Below(high - low + 1); }
  uint32_t Next() {
    const uint64_t i = next_++;
    return philox_.Block(i / 4)[i % 4];
  }

 private:
  Philox philox_;
  uint64_t next_ = 0;
};

// A change of any kind, also with windows that are empty or beyond the image's edges.
PixelChange RandomChange(const ImageExtents& sample, Numbers& numbers) {
  const int64_t height = sample.height, width = sample.width;
  PixelChange change;
  change.kind = PixelChange::Kind(numbers.Below(6));
  change.top = int32_t(numbers.Between(-1, height));
  change.bottom = int32_t(numbers.Between(change.top, height + 2));
  change.left = int32_t(numbers.Between(-1, width));
  change.right = int32_t(numbers.Between(change.left, width + 2));
  change.down = int32_t(numbers.Between(1 - height, height - 1));
  change.across = int32_t(numbers.Between(1 - width, width - 1));
  return change;
}

struct Case {
  ByteImagesSpec spec;
  Tensor bytes, changes;  // of the host

  PixelChange* first() const { return reinterpret_cast<PixelChange*>(changes.data<int32_t>()); }
};

Case MakeCase(const ImageExtents& sample, TensorFormat from, TensorFormat to, DType dtype,
              int64_t n, int64_t changes, uint64_t seed) {
  Case made;
  made.spec = {.sample = sample,
               .from = from,
               .to = to,
               .changes = changes,
               .values = RandomTensor(WideOf(dtype), {sample.channels, 256}, seed)};
  Numbers numbers(seed);
  made.bytes = *Tensor::Zeros(DType::kUint8, made.spec.bytes_shape(n));
  for (int64_t i = 0; i < made.bytes.num_elements(); ++i) {
    made.bytes.data<uint8_t>()[i] = uint8_t(numbers.Next());
  }
  made.changes = *Tensor::Zeros(DType::kInt32, made.spec.changes_shape(n));
  for (int64_t i = 0; i < n * changes; ++i) made.first()[i] = RandomChange(sample, numbers);
  return made;
}

std::vector<double> Expected(const Case& of, DType dtype) {
  const int64_t n = of.bytes.shape()[0];
  const Tensor y = *Tensor::Zeros(of.spec.values.dtype(), of.spec.values_shape(n));
  DispatchFloating(y.dtype(), [&]<typename T>(T) {
    reference::ByteImages(of.spec, n, of.bytes.data<uint8_t>(), of.first(),
                          of.spec.values.data<T>(), y.data<T>());
  });
  return Values(testing::TensorOf(dtype, y.shape(), Values(y)));  // rounded, for 16 bits
}

class ByteImagesTest : public ::testing::TestWithParam<std::tuple<Device, DType>> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(context, std::get<0>(GetParam()));
    context_ = std::move(context);
    if (context_->device().is_cpu() && IsHalf(dtype_)) GTEST_SKIP() << "16 bits are for GPUs";
  }
  Tensor Nothing(const Case& of) const {
    return Put(*context_, NaNTensor(dtype_, of.spec.values_shape(of.bytes.shape()[0])));
  }

  const DType dtype_ = std::get<1>(GetParam());
  std::unique_ptr<DeviceContext> context_;
};

TEST_P(ByteImagesTest, SameAsTheDefinition) {
  uint64_t seed = 0;
  for (const ImageExtents& sample : {ImageExtents{1, 1, 1},
                                     {1, 1, 3},
                                     {1, 9, 3},
                                     {8, 1, 4},
                                     {5, 7, 3},
                                     {6, 5, 1},
                                     {3, 8, 2},
                                     {17, 33, 3}}) {
    for (const TensorFormat from : kFormats) {
      for (const TensorFormat to : kFormats) {
        for (const int64_t changes : {0, 1, 2, 5}) {
          const int64_t n = int64_t(seed % 4) == 3 ? 1 : 3;
          const Case made = MakeCase(sample, from, to, dtype_, n, changes, ++seed);
          SCOPED_TRACE(ToString(sample) + " from " + std::string(Name(from)) + " to " +
                       std::string(Name(to)) + ", " + std::to_string(changes) + " changes");
          const Tensor y = Nothing(made);
          const auto images = *CreateByteImages(*context_, made.spec, dtype_);
          ASSERT_EQ(images->Run(Put(*context_, made.bytes), Put(*context_, made.changes), y),
                    absl::OkStatus());
          ASSERT_EQ(Values(Get(*context_, y)), Expected(made, dtype_));
        }
      }
    }
  }
}

// One of each kind, by its result.
TEST_P(ByteImagesTest, EachKindDoesWhatItSays) {
  Case made = MakeCase({2, 3, 1}, TensorFormat::kNCHW, TensorFormat::kNCHW, dtype_, 1, 1, 1);
  for (int i = 0; i < 256; ++i) {
    DispatchFloating(made.spec.values.dtype(),
                     [&]<typename T>(T) { made.spec.values.data<T>()[i] = T(i); });
  }
  for (int i = 0; i < 6; ++i) made.bytes.data<uint8_t>()[i] = uint8_t(i + 1);
  const auto images = *CreateByteImages(*context_, made.spec, dtype_);
  const auto changed = [&](const PixelChange& change) {
    *made.first() = change;
    const Tensor y = Nothing(made);
    EXPECT_EQ(images->Run(Put(*context_, made.bytes), Put(*context_, made.changes), y),
              absl::OkStatus());
    return Values(Get(*context_, y));
  };
  using Row = std::vector<double>;
  EXPECT_EQ(changed({}), (Row{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(changed({.kind = PixelChange::kFlipColumns}), (Row{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(changed({.kind = PixelChange::kFlipRows}), (Row{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(changed({.kind = PixelChange::kMove, .bottom = 2, .right = 3, .down = 1, .across = -1}),
            (Row{0, 4, 5, 0, 0, 0}));
  EXPECT_EQ(changed({.kind = PixelChange::kMove, .left = 1, .bottom = 2, .right = 2}),
            (Row{0, 2, 0, 0, 5, 0}));
  EXPECT_EQ(changed({.kind = PixelChange::kMoveReflected, .down = 1, .across = -2}),
            (Row{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(changed({.kind = PixelChange::kHide, .top = 1, .left = 1, .bottom = 9, .right = 9}),
            (Row{1, 2, 3, 4, 0, 0}));
}

// What would lie outside is hidden, whatever numbers come.
TEST_P(ByteImagesTest, ReadsNothingOutsideAnImage) {
  Case made = MakeCase({4, 5, 2}, TensorFormat::kNHWC, TensorFormat::kNCHW, dtype_, 1, 1, 3);
  const auto images = *CreateByteImages(*context_, made.spec, dtype_);
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  for (int kind = -1; kind < 8; ++kind) {
    for (const int32_t by : {kLeast, kLeast + 1, -6, 6, kMost - 1, kMost}) {
      *made.first() = {.kind = PixelChange::Kind(kind),
                       .top = kLeast,
                       .left = kLeast,
                       .bottom = kMost,
                       .right = kMost,
                       .down = by,
                       .across = by};
      const Tensor y = Nothing(made);
      ASSERT_EQ(images->Run(Put(*context_, made.bytes), Put(*context_, made.changes), y),
                absl::OkStatus());
      const std::vector<double> values = Values(Get(*context_, y));
      EXPECT_FALSE(testing::HasNaN(values)) << kind << " by " << by;
    }
  }
}

TEST_P(ByteImagesTest, ABatchWithoutImagesWritesNothing) {
  const Case made = MakeCase({3, 3, 3}, TensorFormat::kNHWC, TensorFormat::kNCHW, dtype_, 0, 2, 1);
  const auto images = *CreateByteImages(*context_, made.spec, dtype_);
  const Tensor y = Put(*context_, *Tensor::Zeros(dtype_, made.spec.values_shape(0)));
  EXPECT_EQ(images->Run(Put(*context_, made.bytes), Put(*context_, made.changes), y),
            absl::OkStatus());
}

// Batch after batch of any size, through the host's memory, which may be written again at once.
TEST_P(ByteImagesTest, ATwinBringsOneBatchAfterTheOther) {
  for (const int64_t changes : {0, 2}) {
    const auto make = [&](int64_t n, uint64_t seed) {
      return MakeCase({5, 7, 3}, TensorFormat::kNHWC, TensorFormat::kNCHW, dtype_, n, changes,
                      seed);
    };
    auto spec = std::make_shared<ByteImagesSpec>(make(1, 1).spec);
    const auto twin = *ByteTwin::Create(*context_, spec, dtype_, 4);
    EXPECT_EQ(twin->spec(), spec);
    const Tensor y = Put(*context_, NaNTensor(dtype_, spec->values_shape(4)));
    for (const int64_t n : {4, 1, 3, 4, 2}) {
      Case made = make(n, uint64_t(10 + n));
      made.spec.values = spec->values;
      const std::vector<double> expected = Expected(made, dtype_);
      const Tensor first = y.Samples(0, n, TensorFormat::kNCHW);
      ASSERT_EQ(twin->Put(made.bytes, made.changes, first), absl::OkStatus());
      if (!context_->device().is_cpu()) {
        std::memset(made.bytes.raw_data(), 0, size_t(made.bytes.num_elements()));
      }
      ASSERT_EQ(Values(Get(*context_, first)), expected);
    }
  }
}

TEST_P(ByteImagesTest, RefusesWhatDoesNotFit) {
  const Case made = MakeCase({5, 7, 3}, TensorFormat::kNHWC, TensorFormat::kNCHW, dtype_, 2, 1, 1);
  const auto images = *CreateByteImages(*context_, made.spec, dtype_);
  const Tensor bytes = Put(*context_, made.bytes), changes = Put(*context_, made.changes);
  const Tensor y = Nothing(made);
  const auto refused = [&](const Tensor& b, const Tensor& c, const Tensor& to,
                           std::string_view what) {
    const absl::Status status = images->Run(b, c, to);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("byte_images: " + std::string(what)));
  };
  refused(Tensor(), changes, y, "the bytes have no memory");
  refused(bytes, Tensor(), y, "the changes");
  refused(bytes, changes, Tensor(), "y");
  refused(bytes, changes, bytes, "y");
  refused(y, changes, y, "the bytes");
  refused(bytes.Samples(0, 1, made.spec.from), changes, y, "y");
  refused(bytes, changes.Samples(0, 1, made.spec.from), y, "the changes");
}

INSTANTIATE_TEST_SUITE_P(, ByteImagesTest,
                         ::testing::Combine(::testing::Values(Device::Cpu(), Device::Simulated(0),
                                                              Device::Cuda(0)),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64,
                                                              DType::kFloat16, DType::kBfloat16)));

TEST(ByteImagesSpecTest, SizesAndTablesAreCheckedBeforeAnythingIsAllocated) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  const auto refused = [&](const ByteImagesSpec& spec, DType dtype) {
    const auto made = CreateByteImages(*cpu, spec, dtype);
    EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(made.status().message());
  };
  const Tensor table = *Tensor::Zeros(DType::kFloat32, {1, 256});
  const int64_t huge = int64_t{1} << 30;
  EXPECT_THAT(refused({.sample = {0, 1, 1}, .values = table}, DType::kFloat32),
              HasSubstr("expected sides of 1 to 2^30"));
  EXPECT_THAT(refused({.sample = {1, 1, 0}, .values = table}, DType::kFloat32),
              HasSubstr("and a channel or more"));
  EXPECT_THAT(refused({.sample = {1, 2 * huge, 1}, .values = table}, DType::kFloat32),
              HasSubstr("expected sides of 1 to 2^30"));
  EXPECT_THAT(refused({.sample = {huge, huge, 16}, .values = table}, DType::kFloat32),
              HasSubstr("byte_images"));
  EXPECT_THAT(refused({.sample = {1, 1, 2}, .values = table}, DType::kFloat32),
              HasSubstr("of shape (2, 256)"));
  EXPECT_THAT(refused({.sample = {1, 1, 1}}, DType::kFloat32), HasSubstr("of shape (1, 256)"));
  EXPECT_THAT(refused({.sample = {1, 1, 1}, .changes = 65, .values = table}, DType::kFloat32),
              HasSubstr("expected 0 to 64"));
  EXPECT_THAT(refused({.sample = {1, 1, 1}, .values = table}, DType::kFloat64),
              HasSubstr("float64 from a table in float32"));
  refused({.sample = {1, 1, 1}, .values = table}, DType::kFloat16);
}

}  // namespace
}  // namespace dtnn

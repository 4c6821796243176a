#include "tensor/gpu/vectors.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/gpu/simulated/simulated_driver.h"

namespace dtnn::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// y = 2 * x + the number of its channel: the group in planes, else the column.
template <int kVector>
struct DoubledBody {
  static constexpr int kLanes = kVector, kAhead = 2;
  bool planes;
  VectorView<const float, kLanes> x;
  VectorView<float, kLanes> y;

  struct Kept {
    float channel[kLanes];
  };
  using Loaded = Vector<float, kLanes>;

  void Declare(const VectorGrid& grid, Accesses& accesses) {
    x.Declare(grid, accesses);
    y.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const VectorCell& cell) const {
    Kept kept;
    for (uint32_t i = 0; i < kLanes; ++i) {
      kept.channel[i] = float(planes ? cell.group : cell.column * kLanes + i);
    }
    return kept;
  }
  DTNN_HOST_DEVICE Loaded Load(const VectorCell& cell) const { return x.Load(cell); }
  DTNN_HOST_DEVICE void Store(const VectorCell& cell, const Loaded& loaded,
                              const Kept& kept) const {
    Loaded result;
    for (int i = 0; i < kLanes; ++i) result.Set(i, 2 * loaded[i] + kept.channel[i]);
    y.Store(cell, result);
  }
};

class VectorsTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  float* Device(int64_t count) {
    return static_cast<float*>(*gpu_->Allocate(size_t(count) * sizeof(float), "test"));
  }
  float* Put(const std::vector<float>& values) {
    float* const device = Device(int64_t(values.size()));
    float* const pinned =
        static_cast<float*>(*gpu_->AllocatePinned(values.size() * sizeof(float), "put"));
    std::ranges::copy(values, pinned);
    EXPECT_EQ(stream_->Copy(device, pinned, values.size() * sizeof(float)), absl::OkStatus());
    EXPECT_EQ(stream_->Synchronize(), absl::OkStatus());
    EXPECT_EQ(gpu_->Free(pinned), absl::OkStatus());
    return device;
  }
  std::vector<float> Get(const float* device, int64_t count) {
    const size_t bytes = size_t(count) * sizeof(float);
    float* const pinned = static_cast<float*>(*gpu_->AllocatePinned(bytes, "get"));
    EXPECT_EQ(stream_->Copy(pinned, device, bytes), absl::OkStatus());
    EXPECT_EQ(stream_->Synchronize(), absl::OkStatus());
    std::vector<float> values(pinned, pinned + count);
    EXPECT_EQ(gpu_->Free(pinned), absl::OkStatus());
    return values;
  }
  // Every element once, and nothing between the rows; in place too, where a second time would show.
  template <int kLanes>
  void Check(const VectorExtents& extents, int64_t gap) {
    SCOPED_TRACE(::testing::Message() << extents.rows << " x " << extents.groups << " x "
                                      << extents.columns << " lanes " << kLanes);
    const bool planes = extents.order == VectorExtents::Order::kPlanes;
    const bool flat = extents.order == VectorExtents::Order::kFlat;
    const int64_t length = extents.groups * extents.columns, pitch = length + gap;
    const int64_t count = extents.rows * pitch;
    std::vector<float> x(size_t(count), 0.0f);
    for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 1013);
    float *const from = Put(x), *const to = Put(x);
    const auto view = [&]<typename T>(T* data) -> VectorView<T, kLanes> {
      if (flat) return VectorView<T, kLanes>::Flat(data);
      return {data, pitch, extents.columns};
    };
    const auto read = [&](float* data) { return view(static_cast<const float*>(data)); };
    const DoubledBody<kLanes> body = {planes, read(from), view(to)};
    ASSERT_EQ(ForEachVector(*stream_, "doubled", extents, body), absl::OkStatus());
    const DoubledBody<kLanes> again = {planes, read(to), view(to)};
    ASSERT_EQ(ForEachVector(*stream_, "doubled", extents, again), absl::OkStatus());
    const std::vector<float> result = Get(to, count);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t in_row = i % pitch;
      const float channel = flat ? float(in_row % (kWarpSize * kLanes))
                                 : float(planes ? in_row / extents.columns : in_row);
      const float expected =
          in_row >= length ? x[size_t(i)] : 2 * (2 * x[size_t(i)] + channel) + channel;
      ASSERT_EQ(result[size_t(i)], expected) << "element " << i;
    }
    EXPECT_EQ(gpu_->Free(from), absl::OkStatus());
    EXPECT_EQ(gpu_->Free(to), absl::OkStatus());
  }

  std::unique_ptr<Driver> driver_ = CreateSimulatedDriver({.seed = GetParam()});
  std::unique_ptr<Gpu> gpu_ = *driver_->Open(0);
  std::unique_ptr<Stream> stream_ = *gpu_->CreateStream("main");
};

TEST_P(VectorsTest, EveryElementOfRowsOnce) {
  // Around a warp, two chunks, what a block is deep, and the largest number of blocks.
  for (const int64_t columns : {4, 12, 124, 128, 132, 260}) {
    for (const int64_t rows : {1, 2, 8, 9, 600}) {
      Check<4>(VectorExtents::Rows(rows, columns), 0);
      Check<4>(VectorExtents::Rows(rows, columns), 8);
      Check<1>(VectorExtents::Rows(rows, columns / 4), 3);
    }
  }
  Check<1>(VectorExtents::Rows(70000, 33), 0);
  // More chunks than a grid of blocks has along y.
  if (GetParam() == 1) Check<1>(VectorExtents::Rows(2, 65536 * kWarpSize + 7), 0);
}

TEST_P(VectorsTest, EveryElementOfPlanesOnce) {
  for (const int64_t columns : {4, 124, 128, 132, 520}) {
    for (const int64_t groups : {1, 3, 40}) {
      Check<4>(VectorExtents::Planes(5, groups, columns), 0);
      Check<4>(VectorExtents::Planes(2, groups, columns), 4);
      Check<1>(VectorExtents::Planes(3, groups, columns / 4), 1);
    }
  }
  Check<1>(VectorExtents::Planes(2, 65537, 1), 0);
}

TEST_P(VectorsTest, EveryElementOfAFlatArrayOnce) {
  for (const int64_t n : {4, 124, 128, 132, 1024, 1028, 100000})
    Check<4>(VectorExtents::Flat(n), 0);
  for (const int64_t n : {1, 31, 33, 255, 257, 9001}) Check<1>(VectorExtents::Flat(n), 0);
  // More than all blocks have in one round.
  if (GetParam() == 1) Check<1>(VectorExtents::Flat((1 << 22) + 7), 0);
}

TEST_P(VectorsTest, NothingIsNoLaunch) {
  float* const x = Device(4);
  const DoubledBody<4> body = {false, {x, 4, 0}, {x, 4, 0}};
  EXPECT_EQ(ForEachVector(*stream_, "doubled", VectorExtents::Rows(0, 4), body), absl::OkStatus());
  EXPECT_EQ(gpu_->Free(x), absl::OkStatus());
}

TEST_P(VectorsTest, WhatIsNotAlignedIsRefused) {
  float* const x = Put(std::vector<float>(64, 1.0f));
  const auto run = [&](int64_t first, int64_t pitch) {
    const DoubledBody<4> body = {false, {x + first, pitch, 0}, {x + first, pitch, 0}};
    return ForEachVector(*stream_, "doubled", VectorExtents::Rows(3, 8), body);
  };
  EXPECT_EQ(run(0, 8), absl::OkStatus());
  EXPECT_EQ(run(4, 12), absl::OkStatus());
  EXPECT_THAT(std::string(run(2, 8).message()),
              AllOf(HasSubstr("kernel \"doubled\""), HasSubstr("16 bytes at once"),
                    HasSubstr("8 bytes behind one")));
  EXPECT_THAT(std::string(run(0, 10).message()), HasSubstr("40 bytes apart"));
  EXPECT_EQ(stream_->Synchronize(), absl::OkStatus());
  EXPECT_EQ(gpu_->Free(x), absl::OkStatus());
}

TEST_P(VectorsTest, WhatDoesNotFitIn32BitsIsRefused) {
  const DoubledBody<1> body = {};
  for (const VectorExtents& extents :
       {VectorExtents::Rows(int64_t{1} << 31, 1), VectorExtents::Planes(1 << 20, 1, 1 << 20),
        VectorExtents::Flat(int64_t{1} << 36)}) {
    EXPECT_EQ(ForEachVector(*stream_, "doubled", extents, body).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(VectorsTest, AllowsFullVectors) {
  alignas(16) float x[16];
  EXPECT_TRUE(AllowsFullVectors<float>(x, 3, 8));
  EXPECT_FALSE(AllowsFullVectors<float>(x + 2, 3, 8));
  EXPECT_FALSE(AllowsFullVectors<float>(x, 3, 6));
  EXPECT_TRUE(AllowsFullVectors<float>(x, 1, 6));
  EXPECT_FALSE(AllowsFullVectors<uint16_t>(x, 3, 12));
}

INSTANTIATE_TEST_SUITE_P(Seeds, VectorsTest, ::testing::Range<uint64_t>(1, 4));

}  // namespace
}  // namespace dtnn::gpu

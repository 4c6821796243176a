#include "tensor/gpu/reduce_channels.h"

#include <vector>

#include "gtest/gtest.h"
#include "tensor/gpu/simulated/simulated_driver.h"

namespace dtnn::gpu {
namespace {

// Sums of x and of its squares.
template <int kVector>
struct SquaresBody {
  static constexpr int kLanes = kVector, kAhead = 2, kSums = 2;
  using Sum = double;
  VectorView<const float, kLanes> x;

  using Kept = NothingKept;
  using Loaded = Vector<float, kLanes>;

  void Declare(const VectorGrid& grid, Accesses& accesses) { x.Declare(grid, accesses); }
  DTNN_HOST_DEVICE Kept Keep(const VectorCell&) const { return {}; }
  DTNN_HOST_DEVICE Loaded Load(const VectorCell& cell) const { return x.Load(cell); }
  DTNN_HOST_DEVICE void Add(const VectorCell&, const Loaded& loaded, const Kept&,
                            Sum (&sums)[kSums][kLanes]) const {
    for (int i = 0; i < kLanes; ++i) {
      const double value = double(loaded[i]);
      sums[0][i] += value;
      sums[1][i] += value * value;
    }
  }
};

struct WriteSums {
  double *sums, *squares;

  void Declare(int64_t channels, Accesses& accesses) {
    accesses.Writes(sums, channels);
    accesses.Writes(squares, channels);
  }
  DTNN_HOST_DEVICE void operator()(int64_t channel, const double (&total)[2]) const {
    sums[channel] = total[0];
    squares[channel] = total[1];
  }
};

class ReduceChannelsTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  template <typename T>
  T* Device(int64_t count) {
    return static_cast<T*>(*gpu_->Allocate(size_t(count) * sizeof(T), "test"));
  }
  uint32_t* Arrived() {
    uint32_t* const arrived = Device<uint32_t>(ReducedParts::kMostArrived);
    EXPECT_EQ(stream_->Fill(arrived, 0, ReducedParts::kMostArrived * sizeof(uint32_t)),
              absl::OkStatus());
    return arrived;
  }
  // Whole numbers, so that sums have no rounding.
  template <int kLanes>
  void Check(const VectorExtents& extents, int64_t gap) {
    SCOPED_TRACE(::testing::Message() << extents.rows << " x " << extents.groups << " x "
                                      << extents.columns << " lanes " << kLanes);
    const bool planes = extents.order == VectorExtents::Order::kPlanes;
    const int64_t channels = planes ? extents.groups : extents.columns;
    const int64_t length = extents.groups * extents.columns, pitch = length + gap;
    const int64_t count = extents.rows * pitch;
    float* const pinned =
        static_cast<float*>(*gpu_->AllocatePinned(size_t(count) * sizeof(float), "put"));
    std::vector<double> expected(size_t(2 * channels), 0.0);
    for (int64_t i = 0; i < count; ++i) {
      pinned[i] = float(i * 7 % 201 - 100);
      if (i % pitch >= length) continue;
      const size_t channel = size_t(planes ? i % pitch / extents.columns : i % pitch);
      expected[channel] += pinned[i];
      expected[size_t(channels) + channel] += double(pinned[i]) * pinned[i];
    }
    float* const x = Device<float>(count);
    ASSERT_EQ(stream_->Copy(x, pinned, size_t(count) * sizeof(float)), absl::OkStatus());
    const int64_t doubles = ReducedParts::MostDoubles(extents, 2, kFullVector<float>);
    double *const scratch = Device<double>(doubles), *const sums = Device<double>(2 * channels);
    double* const result =
        static_cast<double*>(*gpu_->AllocatePinned(size_t(2 * channels) * sizeof(double), "get"));
    uint32_t* const arrived = Arrived();
    // The second call finds the counters as the first did.
    for (int call = 0; call < 2; ++call) {
      ASSERT_EQ(stream_->Fill(sums, 0xff, size_t(2 * channels) * sizeof(double)), absl::OkStatus());
      ASSERT_EQ(ReduceChannels(*stream_, "squares", extents,
                               SquaresBody<kLanes>{{x, pitch, extents.columns}}, scratch, arrived,
                               WriteSums{sums, sums + channels}),
                absl::OkStatus());
    }
    ASSERT_EQ(stream_->Copy(result, sums, size_t(2 * channels) * sizeof(double)), absl::OkStatus());
    ASSERT_EQ(stream_->Synchronize(), absl::OkStatus());
    EXPECT_EQ(std::vector<double>(result, result + 2 * channels), expected);
    for (void* memory :
         {static_cast<void*>(pinned), static_cast<void*>(x), static_cast<void*>(scratch),
          static_cast<void*>(sums), static_cast<void*>(arrived), static_cast<void*>(result)}) {
      EXPECT_EQ(gpu_->Free(memory), absl::OkStatus());
    }
  }

  std::unique_ptr<Driver> driver_ = CreateSimulatedDriver({.seed = GetParam()});
  std::unique_ptr<Gpu> gpu_ = *driver_->Open(0);
  std::unique_ptr<Stream> stream_ = *gpu_->CreateStream("main");
};

TEST_P(ReduceChannelsTest, RowsOfChannels) {
  for (const int64_t channels : {4, 12, 128, 132, 260}) {
    for (const int64_t rows : {1, 2, 65, 700}) {
      Check<4>(VectorExtents::Rows(rows, channels), 4);
      Check<1>(VectorExtents::Rows(rows, channels / 4), 0);
    }
  }
  Check<1>(VectorExtents::Rows(30, 1), 0);
  Check<1>(VectorExtents::Rows(90000, 3), 0);  // the most blocks
  Check<1>(VectorExtents::Rows(1, 96), 0);     // more channels than threads of a block
  Check<4>(VectorExtents::Rows(1, 256), 0);
}

TEST_P(ReduceChannelsTest, Planes) {
  for (const int64_t columns : {4, 124, 132, 1200}) {
    for (const int64_t channels : {1, 3, 33}) {
      Check<4>(VectorExtents::Planes(5, channels, columns), 4);
      Check<1>(VectorExtents::Planes(3, channels, columns / 4), 1);
    }
  }
}

TEST_P(ReduceChannelsTest, NothingSumsToZero) {
  double *const sums = Device<double>(16), *const scratch = Device<double>(64);
  uint32_t* const arrived = Arrived();
  ASSERT_EQ(stream_->Fill(sums, 0x3f, 16 * sizeof(double)), absl::OkStatus());
  ASSERT_EQ(
      ReduceChannels(*stream_, "squares", VectorExtents::Rows(0, 8),
                     SquaresBody<4>{{nullptr, 8, 0}}, scratch, arrived, WriteSums{sums, sums + 8}),
      absl::OkStatus());
  double* const result = static_cast<double*>(*gpu_->AllocatePinned(16 * sizeof(double), "get"));
  ASSERT_EQ(stream_->Copy(result, sums, 16 * sizeof(double)), absl::OkStatus());
  ASSERT_EQ(stream_->Synchronize(), absl::OkStatus());
  EXPECT_EQ(std::vector<double>(result, result + 16), std::vector<double>(16, 0.0));
  for (void* memory : {static_cast<void*>(result), static_cast<void*>(sums),
                       static_cast<void*>(scratch), static_cast<void*>(arrived)}) {
    EXPECT_EQ(gpu_->Free(memory), absl::OkStatus());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReduceChannelsTest, ::testing::Range<uint64_t>(1, 4));

}  // namespace
}  // namespace dtnn::gpu

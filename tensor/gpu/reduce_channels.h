// Sums over the elements of each channel of an activation, with the same bits in every run.
//
//   ReduceChannels   body.Add(at, body.Load(at), body.Keep(at), sums) for every vector of a grid,
//                    then finish(channel, sums) once per channel
//
// One kernel: blocks sum in registers, then in shared memory, and write their sums as (part, sum,
// channel). The last block of a group of parts to come so far adds those of the group, and the last
// of all adds the groups and finishes. Both add in the order of parts, whichever block does it, and
// their number follows from the extents alone.
//
// Beside what ForEachVector asks for (vectors.h), a body has
//
//   using Sum = float or double; static constexpr int kSums        sums per channel
//   void Add(VectorCell, const Loaded&, const Kept&, Sum (&sums)[kSums][kLanes]) const
//
// and what finishes is a struct with Declare(int64_t channels, Accesses&) and
// void operator()(int64_t channel, const double (&sums)[kSums]) const.

#ifndef DTNN_TENSOR_GPU_REDUCE_CHANNELS_H_
#define DTNN_TENSOR_GPU_REDUCE_CHANNELS_H_

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "tensor/gpu/vectors.h"

namespace dtnn::gpu {
inline namespace DTNN_GPU_COMPILER {

// Memory of a reduction.
struct ReducedParts {
  double* sums;       // of the parts, then of the groups
  uint32_t* arrived;  // blocks, by column of blocks and group, the last for groups; 0 between calls
  int64_t channels, parts;
  uint32_t group;  // parts of a group

  // Blocks: three for each multiprocessor of an H100, as many as it has registers for at once.
  // From two to eight for each it was measured to be as fast.
  static constexpr uint32_t kMostBlocks = 396;
  // Counters that any reduction takes: fewer than it has blocks.
  static constexpr int64_t kMostArrived = kMostBlocks;

  static ReducedParts Of(double* sums, uint32_t* arrived, const VectorExtents& extents,
                         const VectorGrid& grid) {
    constexpr uint32_t kLeast = 8;  // vectors of a thread
    const bool planes = extents.order == VectorExtents::Order::kPlanes;
    const uint32_t parts = grid.Parts(kLeast, kMostBlocks);
    // As many groups as parts of each.
    uint32_t group = 1;
    while (group * group < parts) ++group;
    return {sums, arrived, planes ? extents.groups : extents.columns, parts, group};
  }
  // Doubles that a reduction of up to so large extents takes, with vectors of any length.
  static int64_t MostDoubles(const VectorExtents& extents, int sums, int full_vector) {
    int64_t most = 0;
    for (const int vector : {1, full_vector}) {
      const ReducedParts parts = Of(nullptr, nullptr, extents, VectorGrid::Of(extents, vector));
      most = std::max(most, (parts.parts + parts.groups()) * parts.channels * sums);
    }
    return most;
  }
  DTNN_HOST_DEVICE uint32_t groups() const { return (uint32_t(parts) + group - 1) / group; }
  DTNN_HOST_DEVICE int64_t At(int64_t part, int sum, int sums, int64_t channel) const {
    return (part * sums + sum) * channels + channel;
  }
};

template <class Body, class Finish>
struct SumsOfBlocks {
  static constexpr uint32_t kThreads = VectorGrid::kThreads;
  static constexpr Cooperation kCooperation = Cooperation::kBlock;
  static constexpr int kLanes = Body::kLanes, kSums = Body::kSums;
  using Sum = typename Body::Sum;
  // A thread's sums, in shared memory.
  struct Sums {
    Sum of[kSums][kLanes];
  };
  static constexpr uint32_t kAdders = 16;
  // Parts that a thread loads before it adds the first: 16 sums, which take two registers each.
  static constexpr int kAhead = kSums > 2 ? 16 / kSums : 8;
  static size_t SharedBytes(const VectorGrid& grid) {
    const size_t all = grid.planes() ? kSums * kAdders * sizeof(double) : 0;
    return grid.threads() * std::max(sizeof(Sums), kSums * sizeof(double)) + all;
  }

  VectorGrid grid;
  Body body;
  ReducedParts to;
  Finish finish;

  void Declare(Accesses& accesses) {
    body.Declare(grid, accesses);
    accesses.Writes(to.sums, (to.parts + to.groups()) * kSums * to.channels);
    if (to.parts > 1) accesses.Writes(to.arrived, int64_t(grid.size_y()) * (to.groups() + 1));
    finish.Declare(to.channels, accesses);
  }
  template <class Thread>
  DTNN_HOST_DEVICE void operator()(const Thread& thread) const {
    const VectorWalk walk(grid, thread);
    Sums sums = {};
    if (walk.first().column < grid.columns) {
      const auto kept = body.Keep(walk.first());
      walk.template Each<Body::kAhead>(
          body, [&](const VectorCell& cell, const typename Body::Loaded& loaded) {
            body.Add(cell, loaded, kept, sums.of);
          });
    }
    Sums* const shared = thread.template Shared<Sums>();
    const uint32_t own = thread.thread_index().x;
    shared[own] = sums;
    thread.Barrier();
    if (grid.planes()) {
      AddAll(thread, shared);
    } else {
      AddRows(walk, shared, own);
    }
    AddParts(thread);
  }

 private:
  // A channel is a lane of an element of a vector: the rows of the block are added in order.
  DTNN_HOST_DEVICE void AddRows(const VectorWalk& walk, const Sums* shared, uint32_t own) const {
    const uint32_t first = walk.first().column - walk.lane();
    const uint32_t channels = grid.lanes * kLanes;
    for (uint32_t i = own; i < channels * kSums; i += grid.threads()) {
      const uint32_t sum = i / channels, channel = i % channels, lane = channel / kLanes;
      if (first + lane >= grid.columns) continue;
      double total = 0;
      for (uint32_t row = 0; row < grid.deep; ++row) {
        total += double(shared[row * grid.lanes + lane].of[sum][channel % kLanes]);
      }
      to.sums[to.At(walk.part(), int(sum), kSums, int64_t(first) * kLanes + channel)] = total;
    }
  }
  // The whole block has one channel: 16 threads add up the sums of a sixteenth each, and one
  // theirs.
  template <class Thread>
  DTNN_HOST_DEVICE void AddAll(const Thread& thread, Sums* shared) const {
    const uint32_t own = thread.thread_index().x;
    double total[kSums] = {};
    for (uint32_t i = own; own < kAdders && i < grid.threads(); i += kAdders) {
      for (int sum = 0; sum < kSums; ++sum) {
        for (int lane = 0; lane < kLanes; ++lane) total[sum] += double(shared[i].of[sum][lane]);
      }
    }
    double* const totals = reinterpret_cast<double*>(shared + grid.threads());
    for (int sum = 0; own < kAdders && sum < kSums; ++sum) {
      totals[uint32_t(sum) * kAdders + own] = total[sum];
    }
    thread.Barrier();
    if (own >= kSums) return;
    double all = 0;
    for (uint32_t i = 0; i < kAdders; ++i) all += totals[own * kAdders + i];
    const Dim3 block = thread.block_index();
    to.sums[to.At(block.x, int(own), kSums, block.y)] = all;
  }

  // The sums of the blocks of this column.
  template <class Thread>
  DTNN_HOST_DEVICE void AddParts(const Thread& thread) const {
    const Dim3 block = thread.block_index();
    const uint32_t parts = uint32_t(to.parts), groups = to.groups(), group = block.x / to.group;
    if (parts > 1) {
      uint32_t* const arrived = to.arrived + block.y * (groups + 1);
      const uint32_t first = group * to.group;
      const uint32_t count = first + to.group < parts ? to.group : parts - first;
      if (!thread.IsLast(arrived + group, count)) return;
      AddRange(thread, first, count, [&](int64_t channel, const double(&total)[kSums]) {
        for (int sum = 0; sum < kSums; ++sum) {
          to.sums[to.At(parts + group, sum, kSums, channel)] = total[sum];
        }
      });
      if (!thread.IsLast(arrived + groups, groups)) return;
    } else {
      thread.Barrier();
    }
    AddRange(thread, parts > 1 ? parts : 0, parts > 1 ? groups : 1, finish);
  }
  // use(channel, total) of `count` parts from `first` on, for each channel of this column of
  // blocks. Where there are n threads for a channel, thread k of them adds parts k, k + n, ...
  template <class Thread, class Use>
  DTNN_HOST_DEVICE void AddRange(const Thread& thread, uint32_t first, uint32_t count,
                                 const Use& use) const {
    const uint32_t own = thread.thread_index().x, y = thread.block_index().y;
    const uint32_t most = grid.planes() ? 1 : grid.lanes * kLanes;
    const int64_t begin = grid.planes() ? y : int64_t(y) * most;
    const uint32_t channels = to.channels - begin < most ? uint32_t(to.channels - begin) : most;
    double* const shared = thread.template Shared<double>();
    // A block of few rows has fewer threads than channels.
    const uint32_t slices = grid.threads() < channels ? 1 : grid.threads() / channels;
    const uint32_t used = slices < count ? slices : count;
    for (uint32_t at = 0; at < channels; at += grid.threads()) {
      const uint32_t slice = own / channels, channel = at + own % channels;
      const bool adds = slice < used && channel < channels;
      double total[kSums] = {};
      if (adds) AddSlice(first, count, slice, used, begin + channel, total);
      thread.Barrier();
      for (int sum = 0; sum < kSums; ++sum)
        shared[uint32_t(sum) * grid.threads() + own] = total[sum];
      thread.Barrier();
      if (!adds || slice != 0) continue;
      for (int sum = 0; sum < kSums; ++sum) {
        for (uint32_t each = 1; each < used; ++each) {
          total[sum] += shared[uint32_t(sum) * grid.threads() + each * channels + own];
        }
      }
      use(begin + channel, total);
    }
  }
  DTNN_HOST_DEVICE void AddSlice(uint32_t first, uint32_t count, uint32_t slice, uint32_t slices,
                                 int64_t channel, double (&total)[kSums]) const {
    for (uint32_t part = slice; part < count; part += kAhead * slices) {
      double loaded[kAhead][kSums] = {};
      DTNN_GPU_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        const uint32_t each = part + uint32_t(k) * slices;
        if (each >= count) continue;
        for (int sum = 0; sum < kSums; ++sum) {
          loaded[k][sum] = LoadOfOthers(to.sums + to.At(first + each, sum, kSums, channel));
        }
      }
      DTNN_GPU_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        for (int sum = 0; sum < kSums; ++sum) total[sum] += loaded[k][sum];
      }
    }
  }
};

// `scratch`: ReducedParts::MostDoubles or more. `arrived`: kMostArrived, all 0. Without elements
// the sums are 0.
template <class Body, class Finish>
absl::Status ReduceChannels(Stream& stream, std::string_view name, const VectorExtents& extents,
                            const Body& body, double* scratch, uint32_t* arrived,
                            const Finish& finish) {
  if (absl::Status status = VectorGrid::Check(extents); !status.ok()) return status;
  const VectorGrid grid = VectorGrid::Of(extents, Body::kLanes);
  const ReducedParts parts = ReducedParts::Of(scratch, arrived, extents, grid);
  if (parts.channels <= 0) return absl::OkStatus();
  using Functor = SumsOfBlocks<Body, Finish>;
  return stream.Launch(KernelOf(name, {uint32_t(parts.parts), grid.size_y()}, {grid.threads()},
                                Functor::SharedBytes(grid), Functor{grid, body, parts, finish}));
}

}  // namespace DTNN_GPU_COMPILER
}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_REDUCE_CHANNELS_H_

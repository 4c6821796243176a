#include "data/datasets/imagenet/shard_cache.h"

#include <atomic>
#include <new>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

// Shard i: ten bytes of value i.
absl::StatusOr<Tensor> Ten(int64_t shard) {
  absl::StatusOr<Tensor> tensor = Tensor::Zeros(DType::kUint8, Shape{10});
  std::fill_n(tensor->data<uint8_t>(), 10, uint8_t(shard));
  return tensor;
}

TEST(ShardCacheTest, KeepsWhatWasUsedLast) {
  std::vector<int64_t> loads;
  ShardCache cache(25, [&](int64_t shard) {
    loads.push_back(shard);
    return Ten(shard);
  });
  for (const int64_t shard : {1, 2, 1, 2, 1, 3, 1, 2}) {
    EXPECT_EQ(cache.Get(shard)->data<uint8_t>()[9], shard);
  }
  EXPECT_EQ(loads, (std::vector<int64_t>{1, 2, 3, 2})) << "3 takes the place of 2, 2 that of 3";
}

// However many have gone already.
TEST(ShardCacheTest, NeverKeepsMoreThanTheBudget) {
  int loads = 0;
  ShardCache cache(25, [&](int64_t shard) {
    ++loads;
    return Ten(shard);
  });
  for (int64_t shard = 0; shard < 10; ++shard) ASSERT_TRUE(cache.Get(shard).ok());
  ASSERT_TRUE(cache.Get(9).ok());
  ASSERT_TRUE(cache.Get(8).ok());
  EXPECT_EQ(loads, 10) << "the last two are there";
  ASSERT_TRUE(cache.Get(7).ok());
  EXPECT_EQ(loads, 11) << "and no other";
}

TEST(ShardCacheTest, LackOfMemoryIsAnErrorAfterWhichOthersTryAgain) {
  int loads = 0;
  ShardCache cache(10, [&](int64_t shard) {
    if (++loads == 1) throw std::bad_alloc();
    return Ten(shard);
  });
  EXPECT_TRUE(absl::IsResourceExhausted(cache.Get(4).status()));
  EXPECT_EQ(cache.Get(4)->data<uint8_t>()[0], 4);
}

TEST(ShardCacheTest, BudgetBelowOneShardKeepsNone) {
  int loads = 0;
  ShardCache cache(9, [&](int64_t shard) {
    ++loads;
    return Ten(shard);
  });
  EXPECT_TRUE(cache.Get(0).ok());
  EXPECT_TRUE(cache.Get(0).ok());
  EXPECT_EQ(loads, 2);
}

TEST(ShardCacheTest, WhatIsHandedOutOutlivesItsPlace) {
  ShardCache cache(10, Ten);
  const Tensor first = cache.Get(1).value();
  EXPECT_EQ(cache.Get(2)->data<uint8_t>()[0], 2);
  EXPECT_EQ(first.data<uint8_t>()[0], 1);
}

TEST(ShardCacheTest, ErrorsAreNotKept) {
  bool broken = true;
  ShardCache cache(100, [&](int64_t shard) -> absl::StatusOr<Tensor> {
    if (broken) return absl::DataLossError("broken");
    return Ten(shard);
  });
  EXPECT_EQ(cache.Get(0).status().message(), "broken");
  broken = false;
  EXPECT_TRUE(cache.Get(0).ok());
}

TEST(ShardCacheTest, ThreadsShareOneLoad) {
  std::atomic<int> loads = 0;
  ShardCache cache(1000, [&](int64_t shard) {
    ++loads;
    std::this_thread::yield();
    return Ten(shard);
  });
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 200; ++i) {
        const absl::StatusOr<Tensor> tensor = cache.Get(i % 20);
        if (!tensor.ok() || tensor->data<uint8_t>()[0] != i % 20) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loads, 20);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace dtnn

#include "data/loading/loader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/datasets/synthetic.h"
#include "data/loading/split.h"
#include "data/testing/counting_dataset.h"
#include "data/testing/every_transform.h"
#include "data/testing/philox_words.h"
#include "data/transforms/crop.h"
#include "data/transforms/flip.h"
#include "data/transforms/mixup.h"
#include "data/transforms/pad_crop.h"
#include "gtest/gtest.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using testing::CountingDataset;

std::unique_ptr<Loader> Make(int64_t n, const LoaderOptions& options) {
  return Loader::Create(std::make_shared<CountingDataset>(n), Split::kTrain, AllIndices(n), options)
      .value();
}

// The labels of the rest of an epoch, after checking that every batch is what its labels say.
std::vector<int64_t> Drain(Loader& loader) {
  std::vector<int64_t> seen;
  for (;;) {
    const absl::StatusOr<const Batch*> next = loader.Next();
    EXPECT_TRUE(next.ok()) << next.status();
    if (!next.ok() || *next == nullptr) return seen;
    const Batch& batch = **next;
    EXPECT_EQ(batch.targets.shape(), Shape{batch.count});
    EXPECT_EQ(batch.x.shape()[0], batch.count);
    const int64_t elements = batch.x.shape().DropFirst().NumElements();
    for (int64_t i = 0; i < batch.count; ++i) {
      const int32_t label = batch.targets.data<int32_t>()[i];
      for (int64_t e = 0; e < elements; ++e) {
        const int64_t at = i * elements + e;
        EXPECT_EQ(batch.x.dtype() == DType::kFloat32 ? batch.x.data<float>()[at]
                                                     : batch.x.data<double>()[at],
                  label);
      }
      seen.push_back(label);
    }
  }
}

std::vector<int64_t> Epoch(Loader& loader, int64_t epoch) {
  loader.StartEpoch(epoch);
  return Drain(loader);
}

TEST(LoaderTest, AllRanksTogetherVisitEverySampleOnce) {
  for (int ranks : {1, 2, 3, 12}) {
    for (int prefetch : {0, 1, 2, 5}) {
      std::vector<std::unique_ptr<Loader>> loaders;
      for (int rank = 0; rank < ranks; ++rank) {
        loaders.push_back(
            Make(101, {.batch = 7, .rank = rank, .ranks = ranks, .seed = 3, .prefetch = prefetch}));
      }
      for (int64_t epoch : {0, 1, 2}) {
        std::vector<int64_t> all;
        for (auto& loader : loaders) {
          const std::vector<int64_t> seen = Epoch(*loader, epoch);
          all.insert(all.end(), seen.begin(), seen.end());
        }
        std::sort(all.begin(), all.end());
        EXPECT_EQ(all, AllIndices(101)) << ranks << " ranks, prefetch " << prefetch;
      }
    }
  }
}

TEST(LoaderTest, PrefetchAndThreadsDoNotChangeTheOrder) {
  auto synchronous = Make(100, {.batch = 8, .seed = 9, .prefetch = 0});
  const std::vector<int64_t> expected = Epoch(*synchronous, 4);
  for (int prefetch : {1, 2, 20}) {
    for (int threads : {1, 2, 3, 16}) {
      auto loader = Make(100, {.batch = 8, .seed = 9, .prefetch = prefetch, .threads = threads});
      EXPECT_NE(Epoch(*loader, 3), expected);
      EXPECT_EQ(Epoch(*loader, 4), expected);
    }
  }
}

// What a loader gives of a sample of an epoch, by the sample's index.
using Seen = std::map<int64_t, std::vector<float>>;

void See(Loader& loader, int64_t epoch, Seen& seen, int64_t first_step = 0) {
  loader.StartEpoch(epoch, first_step);
  for (;;) {
    const Batch* batch = loader.Next().value();
    if (batch == nullptr) return;
    const int64_t elements = batch->x.shape().DropFirst().NumElements();
    for (int64_t i = 0; i < batch->count; ++i) {
      const float* first = batch->x.data<float>() + i * elements;
      seen[batch->targets.data<int32_t>()[i]].assign(first, first + elements);
    }
  }
}

TEST(LoaderTest, PoissonBatchesMayBeEmptyAndDoNotDependOnThreads) {
  std::vector<std::vector<int64_t>> seen;
  for (const int prefetch : {0, 3}) {
    for (const int threads : {1, 3}) {
      auto loader = Make(50, {.batch = 2,
                              .prefetch = prefetch,
                              .threads = threads,
                              .poisson = testing::PhiloxWords(9)});
      EXPECT_DOUBLE_EQ(loader->probability(), 0.04);
      std::vector<int64_t>& all = seen.emplace_back();
      int64_t steps = 0, empty = 0;
      for (const int64_t epoch : {0, 1, 2}) {
        loader->StartEpoch(epoch);
        for (;; ++steps) {
          const Batch* batch = *loader->Next();
          if (batch == nullptr) break;
          EXPECT_EQ(batch->global_count, batch->count);
          if (batch->count == 0) ++empty;
          for (int64_t i = 0; i < batch->count; ++i) {
            all.push_back(batch->targets.data<int32_t>()[i]);
            EXPECT_EQ(batch->x.data<float>()[i * batch->x.shape().DropFirst().NumElements()],
                      float(all.back()));
          }
        }
      }
      EXPECT_EQ(steps, 75);
      EXPECT_TRUE(empty > 0 && empty < 40) << empty;
    }
  }
  for (const auto& other : seen) EXPECT_EQ(other, seen[0]);
}

// Or what becomes of a sample would say which others are drawn.
TEST(LoaderTest, TransformsOfPoissonBatchesAreByTheWordsNotByPlace) {
  // Each step takes all samples, at the places of a loader without Poisson sampling.
  const auto first = [](const LoaderOptions& options) {
    auto loader = Make(6, options);
    loader->StartEpoch(0);
    const Batch* batch = *loader->Next();
    return std::vector<float>(batch->x.data<float>(),
                              batch->x.data<float>() + batch->x.num_elements());
  };
  LoaderOptions options = {
      .batch = 6, .shuffle = false, .prefetch = 0, .transforms = {PadCrop({.padding = 1})}};
  const std::vector<float> by_place = first(options);
  options.poisson = testing::PhiloxWords(1);
  const std::vector<float> one = first(options);
  EXPECT_EQ(one, first(options));
  EXPECT_NE(one, by_place);
  options.poisson = testing::PhiloxWords(2);
  EXPECT_NE(one, first(options));
  options.transforms = {};
  options.mixup = 0.2;
  EXPECT_EQ(
      Loader::Create(std::make_shared<CountingDataset>(6), Split::kTrain, AllIndices(6), options)
          .status()
          .message(),
      "mixup: not with Poisson sampling, where a sample may not depend on the next one");
}

TEST(LoaderTest, SamplesDoNotDependOnBatchRanksOrThreads) {
  const auto dataset = MakeSynthetic({.train_samples = 90,
                                      .sample = {.height = 6, .width = 5, .channels = 3},
                                      .classes = 90,
                                      .pattern = SyntheticPattern::kClasses})
                           .value();
  const std::shared_ptr<const Dataset> shared(dataset.get(), [](const Dataset*) {});
  TransformList transforms = testing::EveryTransform();
  transforms.push_back(Flip());  // a second one
  LoaderOptions options = {.seed = 4,
                           .transforms = transforms,
                           .normalization = {{-0.5, -0.25, 0}, {2, 3, 4}},
                           .mixup = 0.4};
  std::vector<Seen> expected(2);
  Seen plain;
  options.prefetch = 0;
  auto synchronous = Loader::Create(shared, Split::kTrain, AllIndices(90), options).value();
  for (int64_t epoch : {0, 1}) See(*synchronous, epoch, expected[epoch]);
  EXPECT_NE(expected[0], expected[1]) << "every epoch changes samples anew";
  See(*Loader::Create(shared, Split::kTrain, AllIndices(90), {}).value(), 0, plain);
  EXPECT_NE(expected[0], plain);

  for (int ranks : {1, 3}) {
    for (int64_t batch : {1, 7, 64}) {
      for (int threads : {1, 2, 5}) {
        std::vector<Seen> seen(2);
        for (int rank = 0; rank < ranks; ++rank) {
          options.batch = batch;
          options.rank = rank;
          options.ranks = ranks;
          options.prefetch = 2;
          options.threads = threads;
          auto loader = Loader::Create(shared, Split::kTrain, AllIndices(90), options).value();
          for (int64_t epoch : {1, 0}) See(*loader, epoch, seen[epoch]);
        }
        EXPECT_EQ(seen, expected) << ranks << ' ' << batch << ' ' << threads;
      }
    }
  }
  // An epoch that begins in the middle continues as the whole epoch does.
  options = {.batch = 10,
             .seed = 4,
             .transforms = transforms,
             .normalization = options.normalization,
             .mixup = 0.4};
  auto resumed = Loader::Create(shared, Split::kTrain, AllIndices(90), options).value();
  Seen rest;
  See(*resumed, 1, rest, 5);
  EXPECT_EQ(rest.size(), 40u);
  for (const auto& [sample, values] : rest) EXPECT_EQ(values, expected[1][sample]);
}

TEST(LoaderTest, NormalizationComesLast) {
  // Everything but one pixel is cropped away; what is left of the sample is its index.
  auto loader = Make(50, {.batch = 8,
                          .transforms = {Crop({.size = 1, .probability = 1})},
                          .normalization = {{1}, {10}}});
  Seen seen;
  See(*loader, 0, seen);
  for (auto& [sample, values] : seen) {
    std::sort(values.begin(), values.end());
    std::vector<float> expected(6, 10);
    expected.back() = float(10 * (sample + 1));
    EXPECT_EQ(values, expected);
  }
}

// By the sample's index: its values, and its row of targets.
void SeeMixed(Loader& loader, int64_t epoch, Seen& seen, int64_t first_step = 0) {
  loader.StartEpoch(epoch, first_step);
  while (const Batch* batch = loader.Next().value()) {
    const int64_t outputs = batch->mixed_targets.shape()[1];
    ASSERT_EQ(batch->mixed_targets.shape(), (Shape{batch->count, outputs}));
    for (int64_t i = 0; i < batch->count; ++i) {
      std::vector<float>& both = seen[batch->targets.data<int32_t>()[i]];
      const float* row = batch->mixed_targets.data<float>() + i * outputs;
      both.assign(row, row + outputs);
      both.push_back(batch->x.data<float>()[6 * i]);
    }
  }
}

TEST(LoaderTest, MixupMixesEachSampleWithTheNextOne) {
  LoaderOptions options = {.batch = 7, .seed = 5, .mixup = 0.6};
  auto loader = Make(50, options);
  const std::vector<int64_t> order = Epoch(*Make(50, {.batch = 7, .seed = 5}), 3);
  Seen expected;
  SeeMixed(*loader, 3, expected);
  for (size_t p = 0; p < 50; ++p) {
    const int64_t own = order[p], next = order[(p + 1) % 50];
    const std::vector<float>& seen = expected[own];
    const double share = seen[size_t(own)];
    EXPECT_EQ(share, float(MixupShare(0.6, 5, 3, int64_t(p))));
    EXPECT_NEAR(seen[size_t(next)], 1 - share, 1e-6);
    EXPECT_NEAR(seen.back(), share * double(own) + (1 - share) * double(next), 1e-4);
    for (size_t k = 0; k < 50; ++k) {
      if (int64_t(k) != own && int64_t(k) != next) {
        ASSERT_EQ(seen[k], 0);
      }
    }
  }
  for (int ranks : {1, 3}) {
    for (int64_t batch : {1, 8, 64}) {
      for (int threads : {1, 3}) {
        Seen seen;
        for (int rank = 0; rank < ranks; ++rank) {
          options = {.batch = batch, .rank = rank, .ranks = ranks, .seed = 5, .threads = threads};
          options.mixup = 0.6;
          SeeMixed(*Make(50, options), 3, seen);
        }
        EXPECT_EQ(seen, expected) << ranks << ' ' << batch << ' ' << threads;
      }
    }
  }
  Seen rest;
  SeeMixed(*loader, 3, rest, 4);
  EXPECT_EQ(rest.size(), 22u);
  for (const auto& [sample, values] : rest) EXPECT_EQ(values, expected[sample]);
}

// The last label is one too many.
class OneClassLess : public CountingDataset {
 public:
  using CountingDataset::CountingDataset;
  int64_t outputs() const override { return CountingDataset::outputs() - 1; }
};

TEST(LoaderTest, LabelsBeyondTheClassesAreNotMixed) {
  for (const int64_t batch : {1, 3, 10}) {
    auto loader = *Loader::Create(std::make_shared<OneClassLess>(10), Split::kTrain, AllIndices(10),
                                  {.batch = batch, .mixup = 0.6});
    loader->StartEpoch(0);
    absl::Status status;
    for (int64_t step = 0; status.ok() && step < loader->steps(); ++step) {
      status = loader->Next().status();
    }
    EXPECT_EQ(status.message(), "counting: a sample has label 9, but there are 9 classes") << batch;
  }
}

TEST(LoaderTest, WaitingIsCounted) {
  for (int prefetch : {0, 1}) {
    auto loader = Make(10, {.batch = 1, .prefetch = prefetch});
    EXPECT_EQ(loader->seconds_waited(), 0);
    Epoch(*loader, 0);
    const double once = loader->seconds_waited();
    EXPECT_GE(once, 0);
    Epoch(*loader, 1);
    EXPECT_GE(loader->seconds_waited(), once);
    if (prefetch == 0) {
      EXPECT_GT(once, 0) << "without threads all reading is waiting";
    }
  }
}

TEST(LoaderTest, UnshuffledFollowsTheIndices) {
  const std::vector<int64_t> indices = {5, 3, 9, 0, 1};
  auto loader = Loader::Create(std::make_shared<CountingDataset>(10), Split::kTest, indices,
                               {.batch = 2, .shuffle = false})
                    .value();
  EXPECT_EQ(loader->steps(), 3);
  EXPECT_EQ(loader->samples(), 5);
  EXPECT_EQ(Epoch(*loader, 0), indices);
  EXPECT_EQ(Epoch(*loader, 1), indices);
}

TEST(LoaderTest, BatchesHaveTheFormatAndDtypeAskedFor) {
  const auto dataset = std::make_shared<CountingDataset>(10, ImageExtents{4, 5, 3});
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      auto loader = Loader::Create(dataset, Split::kTrain, AllIndices(10),
                                   {.batch = 4, .format = format, .dtype = dtype})
                        .value();
      loader->StartEpoch(0);
      const Batch* batch = loader->Next().value();
      EXPECT_EQ(batch->x.dtype(), dtype);
      EXPECT_TRUE(batch->x.dense());
      EXPECT_EQ(batch->x.shape(),
                format == TensorFormat::kNHWC ? (Shape{4, 4, 5, 3}) : (Shape{4, 3, 4, 5}));
      EXPECT_EQ(batch->targets.dtype(), DType::kInt32);
      EXPECT_EQ(Drain(*loader).size(), 6u);
    }
  }
}

TEST(LoaderTest, LastBatchIsPartialAndSaysSo) {
  auto loader = Make(23, {.batch = 5, .rank = 1, .ranks = 2});
  EXPECT_EQ(loader->steps(), 3);
  EXPECT_EQ(loader->max_batch(), 5);
  loader->StartEpoch(0);
  for (int64_t count : {5, 5, 1}) {
    const Batch* batch = loader->Next().value();
    EXPECT_EQ(batch->count, count);
    EXPECT_EQ(batch->global_count, count == 5 ? 10 : 3);
  }
  EXPECT_EQ(loader->Next().value(), nullptr);
  EXPECT_EQ(loader->Next().value(), nullptr) << "the end stays the end";
}

TEST(LoaderTest, BatchGrowsWhereTheRestIsTooSmallForAStep) {
  auto loader = Make(21, {.batch = 5, .ranks = 2});
  EXPECT_EQ(loader->max_batch(), 6);
  EXPECT_EQ(Epoch(*loader, 0).size(), 11u);
}

TEST(LoaderTest, EpochMayBeLeftAtAnyStep) {
  for (int prefetch : {0, 1, 3, 4}) {
    auto loader = Make(40, {.batch = 4, .prefetch = prefetch, .threads = prefetch == 4 ? 3 : 1});
    const std::vector<int64_t> whole = Epoch(*loader, 1);
    for (int taken = 0; taken <= 10; ++taken) {
      loader->StartEpoch(0);
      for (int i = 0; i < taken; ++i) ASSERT_NE(loader->Next().value(), nullptr);
      EXPECT_EQ(Epoch(*loader, 1), whole);
    }
  }
}

TEST(LoaderTest, AnEpochMayBeginAtAnyStep) {
  for (int prefetch : {0, 1, 3, 4}) {
    auto loader = Make(42, {.batch = 4, .prefetch = prefetch, .threads = prefetch == 4 ? 3 : 1});
    const std::vector<int64_t> whole = Epoch(*loader, 1);
    for (int64_t first = 0; first <= loader->steps(); ++first) {
      loader->StartEpoch(1, first);
      const auto begin = whole.begin() + std::min<int64_t>(4 * first, 42);
      EXPECT_EQ(Drain(*loader), std::vector<int64_t>(begin, whole.end())) << first;
    }
  }
}

TEST(LoaderTest, AnEpochMayGoOnWithLargerBatches) {
  for (int prefetch : {0, 2}) {
    auto loader =
        Make(10, {.batch = 2, .rank = 1, .ranks = 3, .shuffle = false, .prefetch = prefetch});
    ASSERT_EQ(loader->max_batch(), 2);
    loader->StartEpoch(0);
    ASSERT_TRUE(loader->Next().ok());  // and leaves the epoch
    // One step of seven samples: the last one is too few for three ranks.
    ASSERT_EQ(absl::OkStatus(), loader->Skip(3));
    EXPECT_EQ(loader->steps(), 1);
    EXPECT_EQ(loader->max_batch(), 3);
    EXPECT_FALSE(loader->Next().ok());
    EXPECT_EQ(Epoch(*loader, 0), (std::vector<int64_t>{6, 7}));
    ASSERT_EQ(absl::OkStatus(), loader->Skip(0));
    EXPECT_EQ(loader->steps(), 2);
  }
}

// Has no memory for batches from some point on.
class TooLarge : public CountingDataset {
 public:
  using CountingDataset::CountingDataset;
  ImageExtents sample() const override {
    constexpr int64_t kHuge = int64_t{1} << 20;
    return batches_left-- > 0 ? CountingDataset::sample() : ImageExtents{kHuge, kHuge, 2 * kHuge};
  }
  mutable int64_t batches_left = INT64_MAX;
};

TEST(LoaderTest, WithoutMemoryForLargerBatchesItStaysAsItWas) {
  for (const int prefetch : {0, 2}) {
    for (int64_t batches = 0; batches <= prefetch; ++batches) {
      const auto dataset = std::make_shared<TooLarge>(10);
      const auto loader = *Loader::Create(
          dataset, Split::kTrain, AllIndices(10),
          {.batch = 2, .rank = 1, .ranks = 3, .shuffle = false, .prefetch = prefetch});
      dataset->batches_left = batches;
      EXPECT_FALSE(loader->Skip(3).ok());
      EXPECT_FALSE(loader->Skip(3).ok()) << "the memory was not allocated before";
      dataset->batches_left = INT64_MAX;
      EXPECT_EQ(loader->steps(), 2);
      EXPECT_EQ(loader->max_batch(), 2);
      EXPECT_EQ(Epoch(*loader, 0), (std::vector<int64_t>{2, 3, 8}));
      ASSERT_EQ(absl::OkStatus(), loader->Skip(3));
      EXPECT_EQ(Epoch(*loader, 0), (std::vector<int64_t>{6, 7}));
    }
  }
}

TEST(LoaderTest, MayEndAtAnyStep) {
  for (int taken = 0; taken < 12; ++taken) {
    for (int threads : {1, 3}) {
      auto loader = Make(40, {.batch = 4, .prefetch = 2, .threads = threads});
      loader->StartEpoch(0);
      for (int i = 0; i < taken; ++i) ASSERT_TRUE(loader->Next().ok());
    }
  }
  Make(40, {.batch = 4});  // without an epoch
  Make(40, {.batch = 4, .threads = 4});
}

TEST(LoaderTest, HeldBatchIsNotOverwritten) {
  auto loader = Make(400, {.batch = 1, .prefetch = 2});
  loader->StartEpoch(0);
  const Batch* held = loader->Next().value();
  const int32_t label = held->targets.data<int32_t>()[0];
  // The data set is read no further than the slots reach: the batch held and two ahead.
  auto dataset = std::make_shared<CountingDataset>(400);
  auto counted =
      Loader::Create(dataset, Split::kTrain, AllIndices(400), {.batch = 1, .prefetch = 2}).value();
  counted->StartEpoch(0);
  for (int64_t taken = 1; taken <= 100; ++taken) {
    ASSERT_TRUE(counted->Next().ok());
    EXPECT_LE(dataset->reads(), taken + 2);
  }
  EXPECT_EQ(held->targets.data<int32_t>()[0], label);
}

TEST(LoaderTest, ErrorOfTheDataSetSurfacesAtItsStep) {
  for (int prefetch : {0, 1, 3, 4}) {
    const auto dataset = std::make_shared<CountingDataset>(20, ImageExtents{1, 1, 1}, 9);
    auto loader =
        Loader::Create(
            dataset, Split::kTrain, AllIndices(20),
            {.batch = 2, .shuffle = false, .prefetch = prefetch, .threads = prefetch == 4 ? 3 : 1})
            .value();
    for (int round = 0; round < 3; ++round) {
      loader->StartEpoch(round);
      for (int i = 0; i < 4; ++i) ASSERT_TRUE(loader->Next().ok()) << "step " << i;
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(loader->Next().status(), absl::DataLossError("the disk is on fire"));
      }
    }
  }
}

// Fails at every sample of 40 .. 99, and says at which.
class Failing : public CountingDataset {
 public:
  Failing() : CountingDataset(100) {}
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    for (int64_t index : indices) {
      if (index >= 40) return absl::DataLossError("sample " + std::to_string(index));
    }
    return CountingDataset::Read(split, indices, format, x, targets);
  }
};

TEST(LoaderTest, OfSeveralErrorsTheFirstSamplesIsSeen) {
  for (int threads : {1, 2, 8}) {
    const auto dataset = std::make_shared<Failing>();
    auto loader = Loader::Create(dataset, Split::kTrain, AllIndices(100),
                                 {.batch = 32, .shuffle = false, .threads = threads})
                      .value();
    for (int64_t epoch = 0; epoch < 20; ++epoch) {
      loader->StartEpoch(epoch);
      ASSERT_TRUE(loader->Next().ok());
      EXPECT_EQ(loader->Next().status(), absl::DataLossError("sample 40"));
    }
  }
}

// Throws at every sample from 40 on, as a data set of a user's may.
class Throwing : public CountingDataset {
 public:
  explicit Throwing(int kind) : CountingDataset(100), kind_(kind) {}
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    if (indices.back() >= 40 && kind_ == 0) throw std::runtime_error("no such page");
    if (indices.back() >= 40 && kind_ == 1) throw std::bad_alloc();
    if (indices.back() >= 40) throw 5;
    return CountingDataset::Read(split, indices, format, x, targets);
  }

 private:
  const int kind_;
};

TEST(LoaderTest, AnExceptionIsAnErrorWhicheverThreadReads) {
  const absl::Status expected[] = {
      absl::UnknownError("reading samples has thrown an exception: no such page"),
      absl::ResourceExhaustedError("not enough memory to read samples"),
      absl::UnknownError("reading samples has thrown an exception")};
  for (const int kind : {0, 1, 2}) {
    for (const int threads : {0, 1, 3}) {
      auto loader = Loader::Create(std::make_shared<Throwing>(kind), Split::kTrain, AllIndices(100),
                                   {.batch = 32,
                                    .shuffle = false,
                                    .prefetch = threads == 0 ? 0 : 2,
                                    .threads = std::max(1, threads)})
                        .value();
      for (int64_t epoch = 0; epoch < 3; ++epoch) {
        loader->StartEpoch(epoch);
        ASSERT_TRUE(loader->Next().ok());
        EXPECT_EQ(loader->Next().status(), expected[kind]);
      }
    }
  }
}

class Decoding : public CountingDataset {
 public:
  Decoding() : CountingDataset(8) {}
  bool decodes() const override { return true; }
};

TEST(LoaderTest, DecodingTakesAllThreads) {
  SetNumThreads(3);
  EXPECT_EQ(LoaderThreads(Decoding()), 3);
  EXPECT_EQ(LoaderThreads(CountingDataset(8)), 1);
}

// Every Read waits until another one is under way.
class Pairing : public CountingDataset {
 public:
  Pairing() : CountingDataset(8) {}
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      paired_ |= ++inside_ > 1;
      met_.notify_all();
      if (!met_.wait_for(lock, std::chrono::minutes(1), [this] { return paired_; })) {
        return absl::DeadlineExceededError("nobody else reads");
      }
    }
    const absl::Status status = CountingDataset::Read(split, indices, format, x, targets);
    std::unique_lock<std::mutex> lock(mutex_);
    --inside_;
    return status;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable met_;
  mutable int inside_ = 0;
  mutable bool paired_ = false;
};

TEST(LoaderTest, OneBatchIsReadByAllThreads) {
  auto loader = Loader::Create(std::make_shared<Pairing>(), Split::kTrain, AllIndices(8),
                               {.batch = 8, .threads = 2})
                    .value();
  ASSERT_EQ(loader->steps(), 1);
  EXPECT_EQ(Epoch(*loader, 0).size(), 8u);
}

TEST(LoaderTest, NoIndicesMakeAnEmptyEpoch) {
  auto loader = Make(0, {});
  EXPECT_EQ(loader->steps(), 0);
  loader->StartEpoch(0);
  EXPECT_EQ(loader->Next().value(), nullptr);
}

TEST(LoaderTest, StepsPerEpochIsKept) {
  auto more = Make(10, {.batch = 4, .steps_per_epoch = 6});
  EXPECT_EQ(more->steps(), 6);
  EXPECT_EQ(more->samples(), 24);
  EXPECT_EQ(Epoch(*more, 0).size(), 24u);
  auto fewer = Make(100, {.batch = 4, .steps_per_epoch = 6});
  EXPECT_EQ(Epoch(*fewer, 0).size(), 24u);
}

TEST(LoaderTest, NextNeedsAnEpoch) {
  EXPECT_EQ(Make(10, {})->Next().status().code(), absl::StatusCode::kFailedPrecondition);
}

class WithValues : public CountingDataset {
 public:
  using CountingDataset::CountingDataset;
  TargetKind target_kind() const override { return TargetKind::kValues; }
};

TEST(LoaderTest, RefusalsSayWhatIsWrong) {
  const auto refusal = [](const LoaderOptions& options, std::vector<int64_t> indices = {0}) {
    return std::string(
        Loader::Create(std::make_shared<WithValues>(10), Split::kTest, std::move(indices), options)
            .status()
            .message());
  };
  EXPECT_EQ(refusal({}, {9, 10}), "counting: there is no sample 10 among the 10 of the test split");
  EXPECT_EQ(refusal({.dtype = DType::kInt32}), "batches are float32 or float64, not int32");
  EXPECT_EQ(refusal({.prefetch = -1}),
            "the number of batches read ahead must be 0 or more, not -1");
  EXPECT_EQ(refusal({.threads = 1025}),
            "the number of threads that read ahead must be 1 to 1024, not 1025");
  EXPECT_EQ(refusal({.mixup = 0.5}), "mixup: needs one class per sample, but counting has values");
  EXPECT_EQ(refusal({.batch = 0}), "the batch size must be at least 1, not 0");
  EXPECT_EQ(refusal({.ranks = 2}),
            "1 samples cannot be divided over 2 ranks: every rank needs one; use fewer ranks or "
            "more samples");
}

TEST(LoaderTest, RefusesNonsense) {
  const auto code = [](std::vector<int64_t> indices, const LoaderOptions& options) {
    return Loader::Create(std::make_shared<CountingDataset>(10), Split::kTrain, std::move(indices),
                          options)
        .status()
        .code();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code({0, 10}, {}), kInvalid);
  EXPECT_EQ(code({-1}, {}), kInvalid);
  EXPECT_EQ(code({0}, {.batch = 0}), kInvalid);
  EXPECT_EQ(code({0}, {.ranks = 2}), kInvalid);
  EXPECT_EQ(code({0}, {.dtype = DType::kInt32}), kInvalid);
  EXPECT_EQ(code({0}, {.prefetch = -1}), kInvalid);
  EXPECT_EQ(code({0}, {.threads = 0}), kInvalid);
  EXPECT_EQ(code({0}, {.threads = 1025}), kInvalid);
  EXPECT_EQ(code({0}, {.transforms = {Flip({.probability = 2})}}), kInvalid);
  EXPECT_EQ(code({0}, {.transforms = {Crop({.size = 3})}}), kInvalid);
  EXPECT_EQ(code({0}, {.normalization = {{1, 2}, {1, 2}}}), kInvalid);
  EXPECT_EQ(code({0}, {.mixup = 3}), kInvalid);
  const int64_t huge = std::numeric_limits<int64_t>::max() / 2;
  EXPECT_EQ(code({0}, {.batch = huge, .steps_per_epoch = 1}), kInvalid);
}

}  // namespace
}  // namespace dtnn

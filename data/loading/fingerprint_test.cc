#include "data/loading/fingerprint.h"

#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "data/testing/counting_dataset.h"
#include "gtest/gtest.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using testing::CountingDataset;

// One sample is not what it was, or nothing is but what the constructor says.
class Changed : public CountingDataset {
 public:
  Changed(int64_t size, int64_t sample, bool label)
      : CountingDataset(size), sample_(sample), label_(label) {}
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    const absl::Status status = CountingDataset::Read(split, indices, format, x, targets);
    for (size_t i = 0; status.ok() && i < indices.size(); ++i) {
      if (indices[i] != sample_) continue;
      if (label_) targets.data<int32_t>()[i] ^= 1;
      if (!label_) x.data<float>()[i * 6 + 5] += 1;
    }
    return status;
  }

 private:
  const int64_t sample_;
  const bool label_;
};

TEST(FingerprintTest, SaysWhatTheSplitIs) {
  const DataFingerprint print = *Fingerprint(CountingDataset(100), Split::kTrain);
  EXPECT_EQ(print.dataset, "counting");
  EXPECT_EQ(print.samples, 100);
  EXPECT_EQ(print.outputs, 100);
  EXPECT_EQ(print.sample, (ImageExtents{2, 3, 1}));
  EXPECT_EQ(print.targets, TargetKind::kClass);
  EXPECT_EQ(print, *Fingerprint(CountingDataset(100), Split::kTrain));
  EXPECT_EQ(FirstDifference(print, print), std::nullopt);
}

// Checkpoints of older programs have it.
TEST(FingerprintTest, ContentsHaveTheHashThatTheyAlwaysHad) {
  EXPECT_EQ(Fingerprint(CountingDataset(100), Split::kTrain)->contents, 583349758933209761u);
  EXPECT_EQ(Fingerprint(CountingDataset(99), Split::kTrain)->contents, 11321589746686443171u);
}

TEST(FingerprintTest, EveryValueOfDataInMemoryCounts) {
  const DataFingerprint print = *Fingerprint(CountingDataset(200), Split::kTrain);
  for (const int64_t sample : {0, 63, 64, 121, 199}) {
    for (const bool label : {false, true}) {
      const DataFingerprint other = *Fingerprint(Changed(200, sample, label), Split::kTrain);
      const auto difference = FirstDifference(print, other);
      ASSERT_TRUE(difference.has_value()) << sample << (label ? ", label" : ", value");
      EXPECT_EQ(difference->what, "checksum of the samples");
      EXPECT_EQ(difference->was.size(), 16u);
      EXPECT_NE(difference->was, difference->now);
    }
  }
}

TEST(FingerprintTest, DoesNotDependOnThreads) {
  const int threads = NumThreads();
  const DataFingerprint many = *Fingerprint(CountingDataset(1000), Split::kTrain);
  SetNumThreads(1);
  EXPECT_EQ(*Fingerprint(CountingDataset(1000), Split::kTrain), many);
  SetNumThreads(threads);
}

// What is expensive to read is looked at in few places, both ends among them.
class Expensive : public Changed {
 public:
  Expensive(int64_t changed, bool decodes, std::vector<int64_t> groups)
      : Changed(10000, changed, true), decodes_(decodes), groups_(std::move(groups)) {}
  bool decodes() const override { return decodes_; }
  SampleGroups groups(Split) const override { return {.begins = groups_}; }
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    read_.insert(read_.end(), indices.begin(), indices.end());
    return Changed::Read(split, indices, format, x, targets);
  }
  std::vector<int64_t> read() const { return read_; }

 private:
  const bool decodes_;
  const std::vector<int64_t> groups_;
  mutable std::vector<int64_t> read_;
};

TEST(FingerprintTest, LittleIsReadOfWhatTakesLong) {
  const Expensive images(-1, true, {}), files(-1, false, {0, 5000, 9000});
  const DataFingerprint print = *Fingerprint(images, Split::kTrain);
  EXPECT_EQ(images.read().size(), 32u);
  EXPECT_TRUE(Fingerprint(files, Split::kTrain).ok());
  EXPECT_EQ(files.read(), (std::vector<int64_t>{0, 4999, 9999}));
  for (const int64_t changed : {0, 9999}) {
    EXPECT_NE(*Fingerprint(Expensive(changed, true, {}), Split::kTrain), print) << changed;
  }
}

TEST(FingerprintTest, TheFieldThatDiffersIsNamed) {
  DataFingerprint was{.dataset = "mnist",
                      .sample = {28, 28, 1},
                      .outputs = 10,
                      .samples = 60000,
                      .contents = 0xabc};
  const struct {
    std::function<void(DataFingerprint&)> change;
    Difference difference;
  } cases[] = {
      {[](auto& f) { f.dataset = "archive"; }, {"data set", "mnist", "archive"}},
      {[](auto& f) { f.sample.height = 20; }, {"size of a sample", "28x28x1", "20x28x1"}},
      {[](auto& f) { f.targets = TargetKind::kValues; }, {"kind of targets", "classes", "values"}},
      {[](auto& f) { f.outputs = 9; }, {"number of outputs", "10", "9"}},
      {[](auto& f) { f.samples = 50000; }, {"number of samples", "60000", "50000"}},
      {[](auto& f) { f.contents = 1; },
       {"checksum of the samples", "0000000000000abc", "0000000000000001"}},
  };
  for (const auto& c : cases) {
    DataFingerprint now = was;
    c.change(now);
    EXPECT_EQ(FirstDifference(was, now), c.difference);
  }
}

class Named : public CountingDataset {
 public:
  Named(std::vector<std::string> names, bool number)
      : CountingDataset(3), names_(std::move(names)), number_(number) {}
  std::vector<std::string> class_names() const override { return names_; }
  bool names_number_classes() const override { return number_; }

 private:
  const std::vector<std::string> names_;
  const bool number_;
};

TEST(FingerprintTest, NamesCountWhereTheyNumberTheClasses) {
  const auto of = [](std::vector<std::string> names, bool number) {
    return *Fingerprint(Named(std::move(names), number), Split::kTrain);
  };
  EXPECT_NE(of({"a", "b", "c"}, true), of({"a", "b", "d"}, true));
  EXPECT_EQ(of({"a", "b", "c"}, false), of({}, false)) << "they are only displayed";
}

TEST(FingerprintTest, AnEmptySplitHasOneAndErrorsComeBack) {
  EXPECT_EQ(Fingerprint(CountingDataset(0), Split::kTest)->samples, 0);
  EXPECT_TRUE(Fingerprint(CountingDataset(1), Split::kTest).ok());
  const CountingDataset failing(100, {2, 3, 1}, /*failing=*/70);
  EXPECT_EQ(Fingerprint(failing, Split::kTrain).status().code(), absl::StatusCode::kDataLoss);
}

// As a data set of a user's may.
class Throwing : public CountingDataset {
 public:
  explicit Throwing(bool memory) : CountingDataset(1000), memory_(memory) {}
  absl::Status Read(Split /*split*/, std::span<const int64_t> /*indices*/, TensorFormat /*format*/,
                    const Tensor& /*x*/, const Tensor& /*targets*/) const override {
    if (memory_) throw std::bad_alloc();
    throw std::runtime_error("no such page");
  }

 private:
  const bool memory_;
};

// An exception must not leave a worker.
TEST(FingerprintTest, AnExceptionIsAnError) {
  EXPECT_EQ(Fingerprint(Throwing(/*memory=*/true), Split::kTrain).status(),
            absl::ResourceExhaustedError("not enough memory to read samples"));
  EXPECT_EQ(Fingerprint(Throwing(/*memory=*/false), Split::kTrain).status(),
            absl::UnknownError("reading samples has thrown an exception: no such page"));
}

}  // namespace
}  // namespace dtnn

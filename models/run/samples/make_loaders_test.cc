#include "models/run/samples/make_loaders.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/local.h"
#include "data/testing/counting_dataset.h"
#include "data/testing/idx_files.h"
#include "data/transforms/transform.h"
#include "gtest/gtest.h"
#include "models/run/samples/make_dataset.h"

namespace dtnn {
namespace {

using testing::CountingDataset;

class LoadersTest : public ::testing::Test {
 protected:
  LoadersTest() {
    options_.data.name = "synthetic";
    options_.data.synthetic.train_samples = 50;
    options_.data.synthetic.test_samples = 20;
    options_.data.validation_split = 0.2;
    options_.training.evaluate = true;
  }
  Loaders Make() const { return *MakeLoaders(options_, *MakeDataset(options_)); }

  RunOptions options_;
};

TEST_F(LoadersTest, ValidationComesFromTheTrainingPart) {
  const Loaders loaders = Make();
  EXPECT_EQ(loaders.training->samples(), 40);
  EXPECT_EQ(loaders.validation->samples(), 10);
  EXPECT_EQ(loaders.test->samples(), 20);
}

TEST_F(LoadersTest, TheTestPartAsValidationLeavesAllToTrainOn) {
  options_.data.test_as_validation = true;
  const Loaders loaders = Make();
  EXPECT_EQ(loaders.training->samples(), 50);
  EXPECT_EQ(loaders.validation->samples(), 20);
}

TEST_F(LoadersTest, ATestSplitWithoutSamplesIsRefused) {
  options_.data.synthetic.test_samples = 0;
  const auto error = [&] {
    return std::string(MakeLoaders(options_, *MakeDataset(options_)).status().message());
  };
  EXPECT_EQ(error(),
            "data set synthetic has no test samples, which RunOptions::training.evaluate needs; is "
            "there a "
            "RunOptions::data.test_path?");
  options_.training.evaluate = false;
  EXPECT_EQ(error(), "");
  options_.data.test_as_validation = true;
  EXPECT_NE(error().find("which RunOptions::data.test_as_validation needs"), std::string::npos);
}

TEST_F(LoadersTest, APercentageThatLeavesNothingIsNamed) {
  options_.data.share = 0.001;
  EXPECT_EQ(std::string(MakeLoaders(options_, *MakeDataset(options_)).status().message()),
            "RunOptions::data.share=0.001: a share of 0.001 leaves none of 40 samples");
}

// With the same seed: what is drawn is nobody's to guess.
TEST_F(LoadersTest, BatchesOfPrivateTrainingAreOthersEachTime) {
  options_.training.dp_sgd_clip = options_.training.dp_sgd_noise = 1;
  const auto sizes_of_an_epoch = [](Loader& loader) {
    std::vector<int64_t> labels;
    loader.StartEpoch(0);
    while (const Batch* batch = *loader.Next()) {
      labels.push_back(-batch->count);
      for (int64_t i = 0; i < batch->count; ++i) {
        labels.push_back(batch->targets.data<int32_t>()[i]);
      }
    }
    return labels;
  };
  options_.training.batch = 4;
  options_.data.synthetic.train_samples = 400;  // as many coins make the same draw in no two epochs
  options_.data.synthetic.pattern = "classes";
  const Loaders one = Make(), other = Make();
  EXPECT_GT(one.training->probability(), 0);
  EXPECT_NE(sizes_of_an_epoch(*one.training), sizes_of_an_epoch(*other.training));
  EXPECT_NE(sizes_of_an_epoch(*one.training), sizes_of_an_epoch(*one.training));
  options_.training.dp_sgd_clip = options_.training.dp_sgd_noise = 0;
  EXPECT_EQ(Make().training->probability(), 0);
}

TEST_F(LoadersTest, AGpuGetsBytesOfAllSamplesOrOfNone) {
  const auto all = [&](bool bytes, const std::string& why) {
    const std::string folder = testing::NewFolder("mnist");
    for (const std::string part : {"train", "t10k"}) {
      testing::WriteFile(folder, part + "-images-idx3-ubyte",
                         testing::IdxBytes({50, 6, 5}, testing::Elements(50 * 30)));
      testing::WriteFile(folder, part + "-labels-idx1-ubyte",
                         testing::IdxBytes({50}, std::vector<uint8_t>(50)));
    }
    options_.data.path = folder;
    const Loaders loaders = Make();
    for (const auto* loader : {&loaders.training, &loaders.validation, &loaders.test}) {
      EXPECT_EQ((*loader)->options().bytes, bytes);
    }
    EXPECT_EQ(loaders.why_values, why);
  };
  options_.data.name = "mnist";
  options_.data.augment.transforms = "flip,pad_crop:2";
  all(false, "");
  options_.device.gpu = true;
  all(true, "");
  options_.data.augment.transforms = "flip,rotate:10";
  all(false, "rotate:10 computes values");
  options_.data.augment.transforms = "";
  options_.data.augment.mixup = 0.2;
  all(false, "mixup mixes values");
}

// How often each of four classes is among the samples of a loader.
std::array<int, 4> ClassesOf(Loader& loader) {
  std::array<int, 4> counts = {};
  loader.StartEpoch(0);
  for (const Batch* batch = *loader.Next(); batch != nullptr; batch = *loader.Next()) {
    for (int64_t i = 0; i < batch->targets.num_elements(); ++i) {
      ++counts[size_t(batch->targets.data<int32_t>()[i])];
    }
  }
  return counts;
}

// Whichever part of the samples is divided.
TEST_F(LoadersTest, ValidationHasTheSameFractionOfEveryClassOfAPart) {
  const std::string folder = testing::NewFolder("mnist");
  std::vector<uint8_t> labels(80);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = i < 40 ? i % 2 : 2 + (i * i / 7) % 2;
  testing::WriteFile(folder, "train-images-idx3-ubyte",
                     testing::IdxBytes({80, 6, 5}, testing::Elements(80 * 30)));
  testing::WriteFile(folder, "train-labels-idx1-ubyte", testing::IdxBytes({80}, labels));
  options_.data.name = "mnist";
  options_.data.path = folder;
  options_.data.validation_split = 0.25;
  options_.training.evaluate = false;
  options_.training.batch = 4;
  for (const char* part : {"", "1/2", "2/2", "3/3", "1/2@labels:2"}) {
    options_.data.part = part;
    const Loaders loaders = Make();
    const std::array<int, 4> train = ClassesOf(*loaders.training),
                             validation = ClassesOf(*loaders.validation);
    for (size_t c = 0; c < 4; ++c) {
      const double all = train[c] + validation[c];
      EXPECT_NEAR(validation[c], 0.25 * all, 0.99) << part << ", class " << c;
    }
  }
}

TEST_F(LoadersTest, AnotherNumberOfOffsetsThanOfChannelsIsRefused) {
  options_.data.normalize = true;
  options_.data.normalize_offset = {-0.5, -0.4};
  EXPECT_EQ(std::string(MakeLoaders(options_, *MakeDataset(options_)).status().message()),
            "RunOptions::data.normalize_offset and RunOptions::data.normalize_scale: normalisation "
            "with 2 offsets and 1 scales; "
            "expected one each, or 3, one per channel");
}

TEST_F(LoadersTest, AnOffsetForBytesIsRefusedWhereValuesAreByteShares) {
  options_.data.normalize = true;
  options_.data.normalize_offset = {-0.5, -127.5, -1};
  EXPECT_EQ(
      std::string(MakeLoaders(options_, *MakeDataset(options_)).status().message()),
      "RunOptions::data.normalize_offset=-0.5,-127.5,-1: takes 127.5 "
      "from values of byte / 255, which are at most 1; a mean of bytes is divided by 255: 0.5");
  options_.data.normalize_offset = {-0.5, 127.5, -1};
  EXPECT_EQ(Make().training->samples(), 40);
}

TEST_F(LoadersTest, ASplitThatLeavesNothingIsNamed) {
  options_.data.validation_split = 0.9999999999999999;
  EXPECT_EQ(std::string(MakeLoaders(options_, *MakeDataset(options_)).status().message()),
            "RunOptions::data.validation_split=0.9999999999999999: leaves no training samples: it "
            "takes all 50 "
            "training samples; give a smaller share");
}

TEST_F(LoadersTest, BatchesThatNoStepCanFillAreNamed) {
  const auto odd = [&](int ranks) {
    return DescribeLargeBatch(options_, *MakeLoaders(options_, *MakeDataset(options_), 0, ranks));
  };
  options_.training.batch = 40;
  EXPECT_EQ(odd(1), "");
  EXPECT_EQ(odd(3),
            "RunOptions::training.batch=40: is more than a rank's share of the 40 samples to train "
            "on, 14: every "
            "step takes all of them");
  options_.training.batch = 14;
  EXPECT_EQ(odd(3), "");
  options_.training.batch.reset();
  EXPECT_EQ(odd(1),
            "RunOptions::training.batch=64: is more than the 40 samples to train on: every step "
            "takes all of "
            "them");
  options_.training.global_batch = 42;
  EXPECT_EQ(odd(3), "");
  options_.training.global_batch = 45;
  EXPECT_EQ(odd(3),
            "RunOptions::training.global_batch=45: is more than the 40 samples to train on: every "
            "step takes all "
            "of them");
  // Ranks with data of their own have nothing to share.
  options_.ranks.shared_storage = false;
  EXPECT_EQ(odd(3), "");
  // An epoch of as many full steps as asked takes samples again.
  options_.training.steps_per_epoch = 2;
  options_.ranks.shared_storage = true;
  EXPECT_EQ(odd(3), "");
  options_.training.evaluate_only = true;
  EXPECT_EQ(odd(3), "");
}

TEST_F(LoadersTest, OnlyTrainingSamplesAreTransformed) {
  options_.data.augment.transforms = "flip,cutout:3";
  options_.data.augment.mixup = 0.5;
  const Loaders loaders = Make();
  EXPECT_EQ(ToStrings(loaders.training->options().transforms),
            (std::vector<std::string>{"flip:0.5", "cutout:3:mean"}));
  EXPECT_TRUE(loaders.validation->options().transforms.empty());
  EXPECT_TRUE(loaders.test->options().transforms.empty());
  EXPECT_EQ(loaders.training->options().mixup, 0.5);
  EXPECT_EQ(loaders.validation->options().mixup, 0);
  EXPECT_EQ(loaders.test->options().mixup, 0);
}

TEST_F(LoadersTest, TheOlderFlagsMeanTransforms) {
  options_.data.augment.flip = true;
  EXPECT_EQ(ToStrings(Make().training->options().transforms), std::vector<std::string>{"flip:0.5"});
  options_.data.augment.flip_probability = 0.25;
  options_.data.augment.crop = true;
  EXPECT_EQ(ToStrings(Make().training->options().transforms),
            (std::vector<std::string>{"flip:0.25", "crop:16:0.5"}));
}

TEST_F(LoadersTest, TransformsMustFitTheSamples) {
  options_.data.augment.transforms = "pad_crop:40";
  EXPECT_EQ(std::string(MakeLoaders(options_, *MakeDataset(options_)).status().message()),
            "RunOptions::data.augment.transforms=pad_crop:40: pad_crop: a padding of 40 pixels "
            "could crop away all of the "
            "samples, 32 x 32");
}

// The mean and the deviation of all that a loader gives in an epoch.
std::pair<double, double> MomentsOf(Loader& loader) {
  std::vector<double> values;
  loader.StartEpoch(0);
  for (const Batch* batch = *loader.Next(); batch != nullptr; batch = *loader.Next()) {
    const float* x = batch->x.data<float>();
    values.insert(values.end(), x, x + batch->x.num_elements());
  }
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / double(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / double(values.size()))};
}

// Samples that are left out, by either flag, have no part in it.
TEST_F(LoadersTest, TheSamplesThatAreTrainedOnAreStandardised) {
  options_.data.standardize = true;
  for (const double percentage : {0.0, 0.25}) {
    for (const double split : {0.0, 0.4}) {
      options_.data.share = percentage;
      options_.data.validation_split = split;
      const auto dataset = std::make_shared<CountingDataset>(200, ImageExtents{2, 2, 1});
      const Loaders loaders = *MakeLoaders(options_, dataset);
      const auto [mean, deviation] = MomentsOf(*loaders.training);
      EXPECT_NEAR(mean, 0, 1e-5);
      EXPECT_NEAR(deviation, 1, 1e-5);
      const Normalization& by = loaders.preprocessing.normalization;
      EXPECT_DOUBLE_EQ(by.offset[0], -loaders.statistics->mean[0]);
      EXPECT_DOUBLE_EQ(by.scale[0], 1 / loaders.statistics->deviation[0]);
    }
  }
  options_.data.share = 2.5;
  options_.data.validation_split = 0;
  const auto dataset = std::make_shared<CountingDataset>(200, ImageExtents{2, 2, 1});
  EXPECT_EQ(MakeLoaders(options_, dataset)->statistics->count, 200 * 4) << "each once";
}

TEST_F(LoadersTest, RanksStandardiseAlikeAndShareTheReading) {
  options_.data.standardize = true;
  options_.data.validation_split = 0;
  std::vector<double> scales(3);
  const absl::Status status = RunRanks(3, [&](Communicator& communicator) -> absl::Status {
    const int rank = communicator.rank();
    const auto dataset = std::make_shared<CountingDataset>(3 * 256);
    const absl::StatusOr<Loaders> loaders = MakeLoaders(options_, dataset, rank, 3, &communicator);
    if (!loaders.ok()) return loaders.status();
    EXPECT_EQ(dataset->reads(), 256) << rank;
    scales[size_t(rank)] = loaders->training->options().normalization.scale[0];
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(scales, std::vector<double>(3, scales[0]));
}

TEST_F(LoadersTest, TheFlagsNormalisationFollowsTheDataSetsOwn) {
  options_.data.normalize = true;
  EXPECT_EQ(ToJson(Make().preprocessing),
            R"({"x":"byte / 255","channels":"RGB","offset":[-0.45],"scale":[3.75],)"
            R"("geometry":{"crop":1.0,"resize":0,"of":"bytes"}})");
  EXPECT_FALSE(Make().statistics.has_value());
}

TEST_F(LoadersTest, OnlyWhatTheRunNeeds) {
  options_.training.evaluate = false;
  options_.data.validation_split = 0;
  const Loaders training = Make();
  EXPECT_EQ(training.training->samples(), 50);
  EXPECT_EQ(training.validation, nullptr);
  EXPECT_EQ(training.test, nullptr);
  options_.training.evaluate_only = true;
  const Loaders testing = Make();
  EXPECT_EQ(testing.training, nullptr);
  EXPECT_EQ(testing.validation, nullptr);
  EXPECT_EQ(testing.test->samples(), 20);
}

}  // namespace
}  // namespace dtnn

#include "apps/make_loaders.h"

#include "apps/make_dataset.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

class LoadersTest : public ::testing::Test {
 protected:
  LoadersTest() {
    options_.dataset = "synthetic";
    options_.synthetic_train_samples = 50;
    options_.synthetic_test_samples = 20;
    options_.validation_split = 0.2;
    options_.evaluate = true;
  }
  Loaders Make() const { return *MakeLoaders(options_, *MakeDataset(options_)); }

  Options options_;
};

TEST_F(LoadersTest, ValidationComesFromTheTrainingPart) {
  const Loaders loaders = Make();
  EXPECT_EQ(loaders.training->samples(), 40);
  EXPECT_EQ(loaders.validation->samples(), 10);
  EXPECT_EQ(loaders.test->samples(), 20);
}

TEST_F(LoadersTest, TheTestPartAsValidationLeavesAllToTrainOn) {
  options_.test_as_validation = true;
  const Loaders loaders = Make();
  EXPECT_EQ(loaders.training->samples(), 50);
  EXPECT_EQ(loaders.validation->samples(), 20);
}

TEST_F(LoadersTest, APercentageThatLeavesNothingIsNamed) {
  options_.dataset_percentage = 0.001;
  EXPECT_EQ(std::string(MakeLoaders(options_, *MakeDataset(options_)).status().message()),
            "--dataset-percentage=0.001: a fraction of 0.001 leaves none of 40 samples");
}

TEST_F(LoadersTest, ASplitThatLeavesNothingIsNamed) {
  options_.validation_split = 0.9999999999999999;
  EXPECT_EQ(std::string(MakeLoaders(options_, *MakeDataset(options_)).status().message()),
            "--validation-split=0.9999999999999999: holds out all 50 training samples; give a "
            "smaller one");
}

TEST_F(LoadersTest, BatchesThatNoStepCanFillAreNamed) {
  const auto odd = [&](int ranks) {
    return DescribeLargeBatch(options_, *MakeLoaders(options_, *MakeDataset(options_), 0, ranks));
  };
  options_.batch_size = 40;
  EXPECT_EQ(odd(1), "");
  EXPECT_EQ(odd(3),
            "--batch-size=40: is more than a rank's share of the 40 samples to train on, 14: every "
            "step takes all of them");
  options_.batch_size = 14;
  EXPECT_EQ(odd(3), "");
  options_.batch_size.reset();
  EXPECT_EQ(odd(1),
            "--batch-size=64: is more than the 40 samples to train on: every step takes all of "
            "them");
  options_.global_batch_size = 42;
  EXPECT_EQ(odd(3), "");
  options_.global_batch_size = 45;
  EXPECT_EQ(odd(3),
            "--global-batch-size=45: is more than the 40 samples to train on: every step takes all "
            "of them");
  // Ranks with data of their own have nothing to share.
  options_.shared_storage = false;
  EXPECT_EQ(odd(3), "");
  // An epoch of as many full steps as asked takes samples again.
  options_.steps_per_epoch = 2;
  options_.shared_storage = true;
  EXPECT_EQ(odd(3), "");
  options_.evaluate_only = true;
  EXPECT_EQ(odd(3), "");
}

TEST_F(LoadersTest, OnlyWhatTheRunNeeds) {
  options_.evaluate = false;
  options_.validation_split = 0;
  const Loaders training = Make();
  EXPECT_EQ(training.training->samples(), 50);
  EXPECT_EQ(training.validation, nullptr);
  EXPECT_EQ(training.test, nullptr);
  options_.evaluate_only = true;
  const Loaders testing = Make();
  EXPECT_EQ(testing.training, nullptr);
  EXPECT_EQ(testing.validation, nullptr);
  EXPECT_EQ(testing.test->samples(), 20);
}

}  // namespace
}  // namespace dtnn

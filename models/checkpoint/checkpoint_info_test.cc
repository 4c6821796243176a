#include "models/checkpoint/checkpoint_info.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/checkpoint/checkpoint.pb.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

CheckpointInfo Some() {
  CheckpointInfo info = {.model = "vgg16",
                         .format = "NHWC",
                         .dtype = "float32",
                         .optimizer = "adam",
                         .slots = 2,
                         .average_slot = 1,
                         .kept = {"early_stopping", "other"}};
  info.training = {
      .epoch = 3,
      .step_in_epoch = 17,
      .steps_done = int64_t{1} << 40,
      .ended = true,
      .learning_rate = 0.1,
      .random_seed = std::numeric_limits<uint64_t>::max(),
      .metrics = {.names = {"mse", "mae", "recall"}, .sums = {1.5, -0.0, 1e300}, .samples = 1088}};
  info.training.schedulers["warm_up"] = {};
  info.training.schedulers["early_stopping"] = {0.25, std::numeric_limits<double>::infinity()};
  info.training.files["model_checkpoint"] = "model-vgg16-epoch-2.npz";
  info.training.kept_epochs["early_stopping"] = {.epoch = 2, .metrics = {{"mse", 0.5}, {"mae", 1}}};
  info.training.sampler = {
      .batch = 64,
      .ranks = 4,
      .samples = 48000,
      .steps_per_epoch = 5,
      .seed = 57005,
      .treatment = SampleTreatment{.shuffle = false,
                                   .transforms = {"flip:0.5", "cutout:8:mean"},
                                   .normalization = {.offset = {-0.1, -0.2}, .scale = {3}}},
      .own_data = true,
      .first = 32000};
  info.identity = {
      .data = {.dataset = "archive",
               .sample = {3, 4, 5},
               .outputs = 7,
               .targets = TargetKind::kValues,
               .samples = 60000,
               .contents = ~uint64_t{1}},
      .learning_rate = 0.5,
      .epochs = 12,
      .members = {{.what = "--loss-func", .value = "mse"}, {.what = "x", .value = ""}}};
  info.ranks_with_slot = 5;
  info.exchange = {2.5, -3, 1e-300};
  info.frozen = {1, 4, 6};
  info.loss_scale = {.scale = 1024, .good_steps = 7, .skipped_steps = 3};
  return info;
}

absl::Status StatusOf(const CheckpointInfo& info) {
  return DecodeCheckpointInfo(*EncodeCheckpointInfo(info), "x.npz/__state__").status();
}

TEST(CheckpointInfoTest, EverythingComesBack) {
  const CheckpointInfo info = Some();
  const absl::StatusOr<CheckpointInfo> back =
      DecodeCheckpointInfo(*EncodeCheckpointInfo(info), "x");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, info);
  EXPECT_EQ(*EncodeCheckpointInfo(*back), *EncodeCheckpointInfo(info));
  for (const TargetKind targets : {TargetKind::kClass, TargetKind::kPixels}) {
    CheckpointInfo other = info;
    other.identity->data.targets = targets;
    EXPECT_EQ(*DecodeCheckpointInfo(*EncodeCheckpointInfo(other), "x"), other);
  }
  // A new run, where all counts are 0.
  CheckpointInfo fresh = {.model = "m", .format = "NCHW", .dtype = "float64", .optimizer = "sgd"};
  EXPECT_EQ(*DecodeCheckpointInfo(*EncodeCheckpointInfo(fresh), "x"), fresh);
}

TEST(CheckpointInfoTest, WhatIsNoSuchMessageIsRefusedByName) {
  const std::string bytes = *EncodeCheckpointInfo(Some());
  for (const std::string& broken : {std::string("not a message"), bytes.substr(0, bytes.size() - 1),
                                    std::string(3, '\xff'), std::string()}) {
    const absl::Status status = DecodeCheckpointInfo(broken, "x.npz/__state__").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                ::testing::AnyOf(HasSubstr("x.npz/__state__: is "),
                                 HasSubstr("x.npz/__state__: has version 0")));
  }
}

TEST(CheckpointInfoTest, ANewerVersionIsRefusedAndUnknownFieldsAreNot) {
  proto::Checkpoint message;
  ASSERT_TRUE(message.ParseFromString(*EncodeCheckpointInfo(Some())));
  message.set_version(2);
  EXPECT_EQ(DecodeCheckpointInfo(message.SerializeAsString(), "x").status(),
            absl::InvalidArgumentError(
                "x: has version 2 of the format; this program reads versions up to 1"));
  message.set_version(1);
  const std::string field_100 = "\xa2\x06\x01?";  // as a later writer of version 1 may add
  EXPECT_EQ(*DecodeCheckpointInfo(message.SerializeAsString() + field_100, "x"), Some());
}

TEST(CheckpointInfoTest, AnOlderVersionSaysNothingOfDataAndSettings) {
  proto::Checkpoint message;
  ASSERT_TRUE(message.ParseFromString(*EncodeCheckpointInfo(Some())));
  message.clear_settings();
  proto::SamplerSettings* sampler = message.mutable_state()->mutable_sampler();
  sampler->clear_treatment();
  const std::string words =
      "\x32\x08"
      "shuffled";  // what field 6 held
  ASSERT_TRUE(sampler->MergeFromString(words));
  CheckpointInfo expected = Some();
  expected.identity = std::nullopt;
  expected.training.sampler.treatment = std::nullopt;
  EXPECT_EQ(*DecodeCheckpointInfo(message.SerializeAsString(), "x"), expected);
}

TEST(CheckpointInfoTest, AnOlderVersionHadNumbersWithoutNames) {
  proto::Checkpoint message;
  ASSERT_TRUE(message.ParseFromString(*EncodeCheckpointInfo(Some())));
  proto::RunSettings* settings = message.mutable_settings();
  (*settings->mutable_optimizer())["decay"] = 0;
  (*settings->mutable_optimizer())["beta1"] = 0.9;
  settings->set_clip_norm(2);
  settings->set_label_smoothing(0.1);
  const RunIdentity identity = *DecodeCheckpointInfo(message.SerializeAsString(), "x")->identity;
  std::vector<IdentityMember> expected = Some().identity->members;
  for (const auto& [name, value] : {std::pair("beta1 of the optimizer", "0.9"),
                                    {"decay of the optimizer", "0"},
                                    {"--clip-norm", "2"},
                                    {"--label-smoothing", "0.1"}}) {
    expected.push_back({.what = name, .value = value});
  }
  EXPECT_EQ(identity.members, expected);
  settings->clear_optimizer();  // of one without constants
  const size_t others = Some().identity->members.size();
  expected.erase(expected.begin() + ptrdiff_t(others), expected.begin() + ptrdiff_t(others) + 2);
  EXPECT_EQ(DecodeCheckpointInfo(message.SerializeAsString(), "x")->identity->members, expected);
}

TEST(CheckpointInfoTest, AnOlderVersionKnewTwoTransformsByTheirNumbers) {
  proto::Checkpoint message;
  ASSERT_TRUE(message.ParseFromString(*EncodeCheckpointInfo(Some())));
  proto::SampleTreatment* treatment =
      message.mutable_state()->mutable_sampler()->mutable_treatment();
  treatment->clear_transforms();
  const auto transforms = [&] {
    return DecodeCheckpointInfo(message.SerializeAsString(), "x")
        ->training.sampler.treatment->transforms;
  };
  treatment->set_crop_size(7);
  EXPECT_EQ(transforms(), std::vector<std::string>{}) << "nothing was cropped";
  treatment->set_flip(0.5);
  treatment->set_crop(0.25);
  EXPECT_EQ(transforms(), (std::vector<std::string>{"flip:0.5", "crop:7:0.25"}));
}

TEST(CheckpointInfoTest, CountsThatNoRunCanHaveAreRefused) {
  const std::function<void(CheckpointInfo&)> kBreakages[] = {
      [](CheckpointInfo& i) { i.training.epoch = -1; },
      [](CheckpointInfo& i) { i.training.epoch = 1'000'000'001; },
      [](CheckpointInfo& i) { i.training.step_in_epoch = -1; },
      [](CheckpointInfo& i) { i.training.steps_done = -1; },
      [](CheckpointInfo& i) { i.training.metrics.samples = -1; },
      [](CheckpointInfo& i) { i.training.sampler.ranks = 0; },
      [](CheckpointInfo& i) { i.training.sampler.batch = -1; },
      [](CheckpointInfo& i) { i.training.sampler.samples = (int64_t{1} << 33) + 1; },
      [](CheckpointInfo& i) { i.training.sampler.first = -1; },
      [](CheckpointInfo& i) { i.training.sampler.first = i.training.sampler.samples + 1; },
      [](CheckpointInfo& i) { i.training.sampler.first = std::numeric_limits<int64_t>::max(); },
      [](CheckpointInfo& i) { i.training.learning_rate = std::numeric_limits<double>::infinity(); },
      [](CheckpointInfo& i) {
        i.identity->learning_rate = std::numeric_limits<double>::infinity();
      },
      [](CheckpointInfo& i) { i.identity->learning_rate = -1; },
      [](CheckpointInfo& i) { i.identity->epochs = -1; },
      [](CheckpointInfo& i) { i.identity->epochs = 1'000'000'001; },
      [](CheckpointInfo& i) { i.slots = -1; },
      [](CheckpointInfo& i) { i.average_slot = -2; },
      [](CheckpointInfo& i) { i.average_slot = i.slots; },
      [](CheckpointInfo& i) { i.slots = 65; },
      [](CheckpointInfo& i) { i.ranks_with_slot = 65537; },
      [](CheckpointInfo& i) { i.ranks_with_slot = -1; },
      [](CheckpointInfo& i) {  // ranks that have a slot that there is not
        i.slots = 0;
        i.average_slot.reset();
      },
  };
  EXPECT_TRUE(StatusOf(Some()).ok());
  CheckpointInfo most = Some();
  most.slots = 64;
  most.ranks_with_slot = 65536;
  most.average_slot = 63;
  most.training.epoch = most.identity->epochs = 1'000'000'000;
  most.training.sampler.samples = int64_t{1} << 33;
  most.training.sampler.first = most.training.sampler.samples;
  EXPECT_TRUE(StatusOf(most).ok());
  for (size_t i = 0; i < std::size(kBreakages); ++i) {
    CheckpointInfo info = Some();
    kBreakages[i](info);
    EXPECT_THAT(std::string(StatusOf(info).message()), HasSubstr("that no run can have")) << i;
  }
}

// Runs that must end in the same bits are compared by their files.
TEST(CheckpointInfoTest, TheSameStateGivesTheSameBytes) {
  CheckpointInfo info = Some();
  for (int i = 0; i < 30; ++i)
    info.training.schedulers["scheduler" + std::to_string(i)] = {1.0 * i};
  const std::string once = *EncodeCheckpointInfo(info);
  std::vector<CheckpointInfo> copies(16, info);  // elsewhere in memory, which orders maps of protos
  for (const CheckpointInfo& copy : copies) EXPECT_TRUE(*EncodeCheckpointInfo(copy) == once);
}

}  // namespace
}  // namespace dtnn

#include "models/run/checks/check_options.h"

#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Error(const std::function<void(RunOptions& o)>& edit) {
  RunOptions options;
  edit(options);
  return std::string(CheckRunOptions(options).message());
}

TEST(CheckOptionsTest, DefaultsAreRight) { EXPECT_TRUE(CheckRunOptions({}).ok()); }

TEST(CheckOptionsTest, WordsAndNumbersThatMeanNothingAreRefused) {
  EXPECT_THAT(Error([](auto& o) { o.sync.compression = "fp8"; }),
              HasSubstr("RunOptions::sync.compression=fp8: must be one of: none, fp16, bf16"));
  EXPECT_THAT(Error([](auto& o) { o.training.accumulate_steps = 0; }),
              HasSubstr("RunOptions::training.accumulate_steps=0: must be a number >= 1"));
  EXPECT_THAT(Error([](auto& o) { o.training.batch = 0; }),
              HasSubstr("RunOptions::training.batch=0: "));
  EXPECT_THAT(Error([](auto& o) { o.optimizer.learning_rate = 0.0 / 0.0; }),
              HasSubstr("RunOptions::optimizer.learning_rate=nan: "));
  EXPECT_THAT(Error([](auto& o) { o.data.part = "3/2"; }),
              HasSubstr("RunOptions::data.part=3/2: "));
  EXPECT_THAT(Error([](auto& o) { o.training.class_weights = "0,0"; }),
              HasSubstr("RunOptions::training.class_weights=0,0: "));
}

TEST(CheckOptionsTest, WhatOnlyRanksOrClientsCanUseNeedsThem) {
  EXPECT_THAT(Error([](auto& o) { o.encryption.kind = "tenseal"; }),
              AllOf(HasSubstr("RunOptions::encryption.kind=tenseal: "),
                    HasSubstr("add RunOptions::ranks.parallel=data or")));
  EXPECT_THAT(Error([](auto& o) { o.ranks.rendezvous = "node1"; }),
              HasSubstr("RunOptions::ranks.rendezvous: \"node1\": expected HOST:PORT"));
  EXPECT_THAT(Error([](auto& o) { o.ranks.elastic = "1:2"; }),
              AllOf(HasSubstr("RunOptions::ranks.elastic=1:2: "),
                    HasSubstr("add RunOptions::ranks.parallel=data")));
}

TEST(CheckOptionsTest, ContradictionsAreRefused) {
  EXPECT_THAT(Error([](auto& o) { o.data.augment = {.transforms = "cutout", .flip = true}; }),
              HasSubstr("RunOptions::data.augment.transforms=cutout: cannot be used with "
                        "RunOptions::data.augment.flip or RunOptions::data.augment.crop; write "
                        "flip:0.5 or crop:16:0.5 into the list"));
  EXPECT_THAT(Error([](auto& o) { o.data.normalize = o.data.standardize = true; }),
              HasSubstr("RunOptions::data.normalize and RunOptions::data.standardize: "));
  EXPECT_THAT(Error([](auto& o) {
                o.network.dtype = DType::kFloat64, o.device.math_mode = MathMode::kBf16;
              }),
              HasSubstr("RunOptions::device.math_mode=bf16 and RunOptions::network.dtype=float64"));
  EXPECT_THAT(Error([](auto& o) { o.device.math_mode = MathMode::kTf32; }),
              HasSubstr("RunOptions::device.gpu"));
  EXPECT_THAT(Error([](auto& o) {
                o.ranks.parallel = Parallel::kData, o.encryption.kind = "tenseal";
                o.sync.batch_norm = true;
              }),
              HasSubstr("RunOptions::encryption.kind=tenseal and RunOptions::sync.batch_norm: "));
  EXPECT_EQ(
      Error([](auto& o) { o.ranks.parallel = Parallel::kFederated, o.checkpoint.folder = "c"; }),
      "");
  EXPECT_THAT(
      Error([](auto& o) { o.ranks.parallel = Parallel::kFederated, o.network.weights = "w.npz"; }),
      HasSubstr("RunOptions::ranks.parallel=federated and RunOptions::network.weights"));
  EXPECT_EQ(Error([](auto& o) {
              o.ranks.parallel = Parallel::kFederated, o.checkpoint.folder = "c";
              o.network.weights = "w.npz", o.federation.local_parameters = "*_FC_*";
            }),
            "");
  EXPECT_THAT(Error([](auto& o) { o.sync.compression = "bf16", o.device.nccl = true; }),
              HasSubstr("RunOptions::sync.compression=bf16 and RunOptions::device.nccl: "));
  EXPECT_THAT(Error([](auto& o) { o.optimizer.name = "oktopk", o.sync.model_steps = 3; }),
              HasSubstr("RunOptions::optimizer.name=oktopk: needs RunOptions::sync.model_steps=0"));
  EXPECT_THAT(
      Error([](auto& o) {
        o.optimizer.find_learning_rate = true, o.ranks.parallel = Parallel::kData,
        o.encryption.kind = "tenseal", o.encryption.key_file = "key";
      }),
      HasSubstr("RunOptions::optimizer.find_learning_rate and RunOptions::encryption.kind"));
  EXPECT_THAT(Error([](auto& o) { o.optimizer.average_decay = 0.9, o.sync.model_steps = 3; }),
              HasSubstr("RunOptions::optimizer.average_decay: needs "
                        "RunOptions::sync.model_steps=0 and RunOptions::ranks.shared_storage"));
  EXPECT_THAT(
      Error([](auto& o) {
        o.optimizer.average_decay = 0.9, o.ranks.parallel = Parallel::kFederated;
      }),
      HasSubstr("RunOptions::optimizer.average_decay and RunOptions::ranks.parallel=federated: "));
  EXPECT_THAT(Error([](auto& o) {
                o.ranks.parallel = Parallel::kData, o.ranks.elastic = "1:3",
                o.training.global_batch = 4;
              }),
              HasSubstr("RunOptions::training.global_batch=4: must be a multiple of every number"));
}

TEST(CheckOptionsTest, AWordThatIsUnknownIsNamedWithThoseThatAreNot) {
  EXPECT_EQ(Error([](auto& o) { o.encryption.security_level = "high"; }),
            "RunOptions::encryption.security_level=high: must be one of: 0, 128, 192, 256");
  EXPECT_EQ(Error([](auto& o) { o.encryption.kind = "none"; }),
            "RunOptions::encryption.kind=none: must be one of: masked, tenseal, openfhe");
  EXPECT_THAT(Error([](auto& o) { o.data.augment.crop_size = -5; }),
              HasSubstr("RunOptions::data.augment.crop_size=-5: must be"));
}

TEST(CheckOptionsTest, FilesHaveEndingsThatSayTheirForm) {
  EXPECT_THAT(Error([](auto& o) { o.output.history = "h.xml"; }),
              HasSubstr("RunOptions::output.history=h.xml: unknown ending"));
  EXPECT_THAT(Error([](auto& o) { o.output.report = "r.pdf"; }),
              HasSubstr("RunOptions::output.report=r.pdf: unknown ending"));
  EXPECT_THAT(Error([](auto& o) { o.output.trace = "t.xml"; }),
              HasSubstr("RunOptions::output.trace=t.xml: unknown ending"));
  EXPECT_THAT(Error([](auto& o) { o.output.tracing = true; }),
              AllOf(HasSubstr("RunOptions::output.tracing"), HasSubstr("output.trace=FILE")));
  EXPECT_THAT(Error([](auto& o) { o.output.profile.file = "p.xml"; }),
              HasSubstr("RunOptions::output.profile=p.xml: "));
}

TEST(CheckOptionsTest, PrivacyOfSamplesRefusesWhatItsBoundDoesNotCover) {
  const auto error = [](const std::function<void(RunOptions & o)>& edit) {
    return Error([&](auto& o) {
      o.training.dp_sgd_clip = o.training.dp_sgd_noise = 1;
      edit(o);
    });
  };
  EXPECT_EQ(error([](auto&) {}), "");
  EXPECT_EQ(error([](auto& o) { o.training.dp_sgd_noise = 0; }),
            "RunOptions::training.dp_sgd_clip=1: clipping alone protects nothing; add "
            "RunOptions::training.dp_sgd_noise");
  EXPECT_EQ(
      error([](auto& o) { o.training.dp_sgd_clip = 0; }),
      "RunOptions::training.dp_sgd_noise=1: noise protects gradients whose length is bounded; "
      "add RunOptions::training.dp_sgd_clip");
  EXPECT_THAT(error([](auto& o) { o.training.dp_sgd_noise = 0.001; }),
              AllOf(HasSubstr("RunOptions::training.dp_sgd_noise"), HasSubstr("0.01 to 1e6")));
  EXPECT_THAT(error([](auto& o) { o.training.dp_sgd_delta = 0.7; }), HasSubstr("1e-12 to 0.5"));
  const struct {
    std::function<void(RunOptions& o)> edit;
    const char* part;
  } cases[] = {
      {[](auto& o) { o.data.shuffle = false; }, "data.shuffle=False: "},
      {[](auto& o) { o.ranks.parallel = Parallel::kData; }, "ranks.parallel=data: "},
      {[](auto& o) { o.ranks.parallel = Parallel::kFederated; },
       "ranks.parallel=federated: cannot be used together; RunOptions::federation.dp_clip "},
      {[](auto& o) { o.device.gpu = true; }, "device.gpu: "},
      {[](auto& o) { o.data.augment.mixup = 0.5; }, "data.augment.mixup: "},
      {[](auto& o) { o.data.share = 1.5; }, "data.share: "},
      {[](auto& o) { o.data.standardize = true; }, "data.standardize: "},
      {[](auto& o) { o.training.class_weights = "balanced"; }, "class_weights=balanced: "},
      {[](auto& o) { o.optimizer.find_learning_rate = true; }, "find_learning_rate: "},
      {[](auto& o) { o.training.accumulate_steps = 2; }, "accumulate_steps: "},
  };
  for (const auto& [edit, part] : cases) {
    EXPECT_THAT(error(edit), AllOf(HasSubstr("RunOptions::training.dp_sgd_clip and RunOptions::"),
                                   HasSubstr(part)));
  }
}

}  // namespace
}  // namespace dtnn

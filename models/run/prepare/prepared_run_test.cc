#include "models/run/prepare/prepared_run.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <sstream>
#include <string>

#include "comm/local.h"
#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

RunOptions Small() {
  RunOptions options;
  options.network.name = "simplemlp";
  options.data.name = "synthetic";
  options.data.synthetic.train_samples = 50;
  options.data.synthetic.test_samples = 20;
  options.data.synthetic.input_shape = {1, 4, 4};
  options.data.synthetic.output_shape = {3};
  options.training.batch = 5;
  return options;
}

// What it says; errors too.
struct Prepared {
  Prepared(const RunOptions& options, Communicator* communicator)
      : run(options, {.communicator = communicator}),
        log(run.options, run.rank, run.ranks,
            {.print = [this](std::string_view text) { out << text; },
             .warn = [this](std::string_view line) { err << line << "\n"; }}),
        status(run.Prepare(log)) {}

  PreparedRun run;
  std::ostringstream out, err;
  RunLog log;
  absl::Status status;
};

TEST(PreparedRunTest, TheNetworkFitsTheData) {
  Prepared prepared(Small(), nullptr);
  ASSERT_TRUE(prepared.status.ok()) << prepared.status;
  EXPECT_EQ(prepared.run.graph.name(), "simplemlp");
  EXPECT_EQ(prepared.run.graph.input_shape(), (Shape{4, 4, 1}));
  EXPECT_EQ(prepared.run.graph.output_shape().NumElements(), 3);
  ASSERT_NE(prepared.run.loaders.training, nullptr);
  ASSERT_NE(prepared.run.loaders.validation, nullptr);
  EXPECT_EQ(prepared.run.loaders.training->samples(), 40);
  EXPECT_TRUE(prepared.run.Writes());
  EXPECT_THAT(prepared.out.str(), HasSubstr("**** Loading synthetic dataset...\n"));
  EXPECT_THAT(prepared.out.str(), HasSubstr("**** simplemlp model...\n"));
  EXPECT_EQ(prepared.err.str(), "");
}

// There are 40 training, 10 validation and 20 test samples.
TEST(PreparedRunTest, EachOfAnyNumberOfRanksFindsASample) {
  const auto prepare = [](const std::string& range) {
    std::array<absl::Status, 2> statuses;
    (void)RunRanks(2, [&](Communicator& communicator) {
      RunOptions options = Small();
      options.ranks.parallel = Parallel::kData;
      options.ranks.elastic = range;
      return statuses[size_t(communicator.rank())] = Prepared(options, &communicator).status;
    });
    return statuses;
  };
  EXPECT_THAT(prepare("1:10"), Each(absl::OkStatus()));
  const auto statuses = prepare("1:11");
  EXPECT_THAT(std::string(statuses[0].message()),
              HasSubstr("RunOptions::ranks.elastic=1:11: there may be 11 ranks, but a part of the "
                        "data has only 10 samples"));
  EXPECT_EQ(statuses[1].message(), "rank 0 cannot continue");
}

TEST(PreparedRunTest, SchedulersWatchWhatThereIs) {
  RunOptions options = Small();
  options.data.synthetic.train_samples = 3;
  options.data.validation_split = 0.1;
  Prepared prepared(options, nullptr);
  ASSERT_TRUE(prepared.status.ok()) << prepared.status;
  EXPECT_EQ(prepared.run.loaders.validation, nullptr);
  EXPECT_EQ(prepared.run.options.schedule.early_stopping.metric, "categorical_cross_entropy");
  EXPECT_THAT(prepared.err.str(),
              HasSubstr("RunOptions::data.validation_split=0.1: leaves no validation samples "
                        "out of 3 samples; schedulers watch"));
}

TEST(PreparedRunTest, WhatCannotBeWrittenShowsBeforeTheDataAreRead) {
  using Change = void (*)(RunOptions&);
  for (const Change change : std::initializer_list<Change>{
           [](RunOptions& o) { o.output.history = "/none/h.csv"; },
           [](RunOptions& o) { o.output.model = "/none/m.npz"; },
           [](RunOptions& o) { o.output.report = "/none/r.html"; },
           [](RunOptions& o) { o.output.tensorboard = "/dev/null/none"; },
           [](RunOptions& o) { o.schedule.model_folder = "/dev/null/none"; },
           [](RunOptions& o) { o.checkpoint.folder = "/dev/null/none"; }}) {
    RunOptions options = Small();
    change(options);
    Prepared prepared(options, nullptr);
    EXPECT_EQ(ExitCodeOf(prepared.status), kExitFailed) << prepared.status;
    EXPECT_THAT(std::string(prepared.status.message()), HasSubstr("none"));
    EXPECT_EQ(prepared.run.dataset, nullptr);
  }
}

TEST(PreparedRunTest, FilesThatCannotBeReadShowBeforeTheDataAreRead) {
  setenv("DTNN_JOB_SECRET", std::string(40, 's').c_str(), 1);
  RunOptions client = Small();
  client.ranks.parallel = Parallel::kFederated;
  client.federation.server = "127.0.0.1:61643";
  client.encryption.kind = "tenseal";
  client.encryption.key_file = "/none/key";
  RunOptions tuned = Small();
  tuned.convolution.best_of = true;
  tuned.convolution.best_of_file = "/none/tuned.txt";
  RunOptions kept = Small();
  kept.device.gpu = true;
  kept.device.cudnn_plans = "/none/plans";
  for (const auto& [options, reason] : {std::pair(client, "_file: /none/key"),
                                        {tuned, "_file: /none/tuned.txt"},
                                        {kept, "RunOptions::device.cudnn_plans: /none/plans"}}) {
    Prepared prepared(options, nullptr);
    EXPECT_FALSE(prepared.status.ok());
    EXPECT_THAT(std::string(prepared.status.message()), HasSubstr(reason));
    EXPECT_EQ(prepared.run.dataset, nullptr);
    EXPECT_EQ(prepared.out.str(), "");
  }
}

TEST(PreparedRunTest, NoPlansAreKeptWhereNoneAreMade) {
  RunOptions options = Small();
  options.device.gpu = true;
  options.device.gpu_device = "simulated";
  options.device.cudnn_plans = ::testing::TempDir() + "plans";
  std::filesystem::remove(options.device.cudnn_plans);
  Prepared prepared(options, nullptr);
  EXPECT_TRUE(prepared.status.ok()) << prepared.status;
  EXPECT_FALSE(std::filesystem::exists(options.device.cudnn_plans));
}

TEST(PreparedRunTest, AllRanksEndWhereOneFails) {
  std::array<absl::Status, 2> statuses;
  ASSERT_TRUE(RunRanks(2, [&](Communicator& communicator) {
                RunOptions options = Small();
                options.ranks.parallel = Parallel::kData;
                if (communicator.rank() == 1) options.sync.min_available = 3;
                Prepared prepared(options, &communicator);
                statuses[size_t(communicator.rank())] = prepared.status;
                EXPECT_EQ(prepared.run.Writes(), communicator.rank() == 0);
                return absl::OkStatus();
              }).ok());
  for (const absl::Status& status : statuses) EXPECT_EQ(ExitCodeOf(status), kExitUsage) << status;
  EXPECT_THAT(
      std::string(statuses[1].message()),
      HasSubstr("RunOptions::sync.min_available=3: must be at most the number of ranks, 2"));
}

}  // namespace
}  // namespace dtnn

#include "apps/flags/validate.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "apps/flags/option_needs.h"
#include "apps/flags/option_table.h"
#include "apps/flags/parser.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optim/optimizers/optimizers.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Arguments = std::vector<std::string>;

absl::StatusOr<CommandLine> Parse(Arguments arguments) {
  arguments.insert(arguments.begin(), {"--model=simplecnn", "--dataset=mnist"});
  return ParseFlags(arguments);
}

Options InForceOf(const Arguments& arguments) { return OptionsInForce(Parse(arguments)->options); }

std::string Error(const Arguments& arguments) {
  const absl::StatusOr<CommandLine> command_line = Parse(arguments);
  EXPECT_EQ(ExitCodeOf(command_line.status()), kExitUsage);
  return std::string(command_line.status().message());
}

TEST(ValidateTest, ModelAndDatasetAreRequired) {
  EXPECT_EQ(ParseFlags(Arguments{"--dataset=mnist"}).status().message(),
            "--model: missing; name a network, such as --model=simplecnn (--model=list shows all), "
            "or the file of a trained one by --weights-and-bias-filename");
  EXPECT_EQ(
      ParseFlags(Arguments{"--model=simplecnn"}).status().message(),
      "--dataset: missing; name a data set, such as --dataset=mnist (--dataset=list shows all)");
  EXPECT_FALSE(ParseFlags(Arguments{}).ok());
  EXPECT_EQ(ParseFlags(Arguments{"--num-epochs=1"}).status().message(),
            "--model and --dataset: missing; options change a run that has a network and data, "
            "such as --model=simplecnn --dataset=mnist, or --dataset=synthetic, which needs no "
            "files (--model=list and --dataset=list show all)");
}

TEST(ValidateTest, ThePathThatIsMissingIsNamed) {
  const std::string question = ": missing; where are the files of --dataset=cifar10?";
  EXPECT_EQ(Error({"--dataset=cifar10"}), "--dataset-path" + question);
  EXPECT_EQ(Error({"--dataset=cifar10", "--evaluate", "--dataset-train-path=x"}),
            "--dataset-test-path" + question);
  EXPECT_EQ(Error({"--dataset=cifar10", "--dataset-test-path=x"}),
            "--dataset-train-path" + question);
}

TEST(ValidateTest, BatchSizesExcludeEachOther) {
  EXPECT_EQ(
      Error({"--batch-size=64", "--global-batch-size=128"}),
      "--batch-size=64 and --global-batch-size=128: cannot be used together; give one of them");
  EXPECT_TRUE(Parse({"--batch-size=64", "--global-batch-size=None"}).ok());
}

TEST(ValidateTest, SyntheticShapesHaveTheirNumbers) {
  EXPECT_EQ(Error({"--synthetic-input-shape=3,32"}),
            "--synthetic-input-shape=3,32: must be three whole numbers: channels,height,width");
  EXPECT_EQ(Error({"--synthetic-output-shape=3,2"}),
            "--synthetic-output-shape=3,2: must be one whole number, the number of classes");
}

TEST(ValidateTest, MetricsInTheLossListBecomeMetrics) {
  const Options options =
      Parse({"--loss_func=categorical_accuracy,categorical_cross_entropy"})->options;
  EXPECT_EQ(options.training.loss, "categorical_cross_entropy");
  EXPECT_EQ(options.training.metrics, Arguments{"categorical_accuracy"});
  const Options joined =
      Parse({"--metrics=", "--loss-func=accuracy,categorical_cross_entropy"})->options;
  EXPECT_EQ(joined.training.metrics, Arguments{"categorical_accuracy"});
  EXPECT_EQ(Parse({"--metrics="})->options.training.metrics, Arguments{});
  EXPECT_EQ(Error({"--loss-func=accuracy"}),
            "--loss-func=categorical_accuracy: must name exactly one loss: "
            "categorical_cross_entropy, binary_cross_entropy, mse or mae");
  EXPECT_FALSE(Parse({"--loss-func="}).ok());
}

TEST(ValidateTest, SettingsWithoutEffectAreWarnedOf) {
  EXPECT_EQ(Parse({})->warnings, Arguments{});
  EXPECT_EQ(Parse({"--optimizer=adam", "--nesterov", "--beta1=0.9"})->warnings,
            Arguments{"--optimizer-nesterov has no effect with --optimizer=adam"});
  EXPECT_EQ(Parse({"--beta1=0.9"})->warnings,
            Arguments{"--optimizer-beta1 has no effect with --optimizer=sgd"});
  EXPECT_EQ(Parse({"--dataset=synthetic", "--dataset-path=x"})->warnings,
            Arguments{"--dataset-path has no effect with --dataset=synthetic"});
  EXPECT_EQ(Parse({"--synthetic-train-samples=8"})->warnings,
            Arguments{"--synthetic-train-samples has no effect with --dataset=mnist"});
  EXPECT_EQ(Parse({"--test-as-validation", "--validation-split=0.1"})->warnings,
            Arguments{"--validation-split has no effect with --test-as-validation"});
  EXPECT_EQ(Parse({"--non-blocking-mpi", "--parallel=sequential"})->warnings,
            Arguments{"--use-blocking-mpi has no effect with --parallel=sequential"});
}

TEST(ValidateTest, WhatADataSetHonoursIsNotWarnedOf) {
  for (const char* dataset : {"folder", "chestxray", "imagenet", "masks"}) {
    EXPECT_EQ(Parse({StrCat("--dataset=", dataset), "--dataset-path=x", "--skip-damaged-images"})
                  ->warnings,
              Arguments{})
        << dataset;
  }
  EXPECT_EQ(Parse({"--skip-damaged-images"})->warnings,
            Arguments{"--skip-damaged-images has no effect with --dataset=mnist"});
}

// It exchanges its largest gradients after the backward pass, and cuts no buckets.
TEST(ValidateTest, OktopkExchangesInItsOwnWay) {
  EXPECT_EQ(Parse({"--parallel=data", "--optimizer=oktopk", "--use-blocking-mpi=False",
                   "--comm-bucket-mb=16"})
                ->warnings,
            Arguments{"--use-blocking-mpi, --comm-bucket-mb have no effect with "
                      "--optimizer=oktopk"});
}

TEST(ValidateTest, WhatHasNoEffectForOneReasonIsOneLine) {
  const Arguments warnings =
      Parse({"--evaluate-only", "--optimizer=adam", "--learning-rate=0.1", "--history-file=h.csv"})
          ->warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0],
            "--history-file, --optimizer, --learning-rate have no effect with --evaluate-only");
}

// Old scripts give every option that there is.
TEST(ValidateTest, WhatIsOffAnywayIsNotWarnedOf) {
  EXPECT_EQ(Parse({"--tracing=False", "--encryption=None", "--profile=False", "--dp-noise=0",
                   "--use-mpi-buffers=None", "--enable-nccl=False", "--optimizer-nesterov=False",
                   "--gradient-compression=none"})
                ->warnings,
            Arguments{});
  // On by default, so that off would be a change.
  EXPECT_EQ(Parse({"--shared-storage=False"})->warnings,
            Arguments{"--shared-storage has no effect with --parallel=sequential"});
  EXPECT_EQ(Parse({"--use-mpi-buffers=False"})->warnings,
            Arguments{"--use-mpi-buffers has no effect with --parallel=sequential"});
}

// Each option either counts in a run that only tests, and stands here, or is warned of.
TEST(ValidateTest, OptionsOfTrainingAreWarnedOfWhereARunOnlyTests) {
  const std::set<std::string_view> counts = {"model",
                                             "batch-size",
                                             "global-batch-size",
                                             "dtype",
                                             "evaluate",
                                             "evaluate-only",
                                             "weights-and-bias-filename",
                                             "weights-format",
                                             "weights-partial",
                                             "save-model",
                                             "checkpoint-dir",  // refused
                                             "checkpoint-freq",
                                             "checkpoint-steps",
                                             "dp-clip",
                                             "dp-noise",
                                             "dp-delta",
                                             "dp-quantile",
                                             "dp-clip-rate",
                                             "dp-bit-noise",
                                             "resume",  // refused
                                             "tensor-format",
                                             "random-seed",
                                             "shared-storage",
                                             "dataset",
                                             "dataset-path",
                                             "dataset-train-path",
                                             "dataset-test-path",
                                             "skip-damaged-images",
                                             "archive-format",
                                             "dataset-lang",
                                             "dataset-lang2",
                                             "synthetic-train-samples",
                                             "synthetic-test-samples",
                                             "synthetic-input-shape",
                                             "synthetic-output-shape",
                                             "synthetic-pattern",
                                             "dataset-percentage",
                                             "transform-square",
                                             "transform-crop",
                                             "transform-crop-perc",
                                             "transform-resize",
                                             "transform-resize-size",
                                             "normalize",
                                             "normalize-offset",
                                             "normalize-scale",
                                             "standardize",
                                             "use-synthetic-data",
                                             "loader-threads",
                                             "enable-best-of",
                                             "enable-memory-cache",
                                             "enable-fused-bn-relu",
                                             "enable-fused-conv-relu",
                                             "enable-fused-conv-bn",
                                             "enable-fused-conv-bn-relu",
                                             "conv-variant",
                                             "best-of-file",
                                             "conv-direct-method",
                                             "conv-direct-methods-for-best-of",
                                             "loss-func",
                                             "label-smoothing",
                                             "metrics",
                                             "parallel",
                                             "server",
                                             "client-name",
                                             "client-labels",
                                             "identity-key-file",
                                             "aggregator-key",
                                             "local-parameters",
                                             "transport",
                                             "rendezvous",
                                             "elastic",
                                             "use-mpi-buffers",
                                             "comm-timeout",
                                             "enable-gpu",
                                             "gpu-device",
                                             "math-mode",
                                             "enable-gpudirect",
                                             "enable-nccl",
                                             "enable-cuda-graphs",
                                             "enable-cudnn-auto-conv-alg",
                                             "cudnn-plans",
                                             "encryption",
                                             "encryption-poly-degree",
                                             "encryption-global-scale",
                                             "encryption-security-level",
                                             "encryption-key-file",
                                             "plain-metrics",
                                             "mask-neighbours",
                                             "least-clients",
                                             "tracing",
                                             "tracer-output",
                                             "options",
                                             "save-options",
                                             "dry-run",
                                             "force",
                                             "quiet",
                                             "progress",
                                             "metrics-port",
                                             "metrics-listen",
                                             "metrics-certificate",
                                             "metrics-key",
                                             "metrics-token-file",
                                             "metrics-allow-unprotected",
                                             "metrics-allowed-hosts",
                                             "log-format",
                                             "verbose"};
  Options options = OptionsInForce(Options());
  options.training.evaluate_only = true;
  for (const OptionSpec& spec : OptionTable()) {
    const std::vector<std::string> reasons = UnmetNeeds(spec, options);
    const bool warned = std::ranges::count(reasons, "with --evaluate-only") > 0;
    // Or an option that needs another one which is warned of.
    const bool through = std::ranges::any_of(OptionTable(), [&](const OptionSpec& other) {
      return (NeedsOption(spec, other.name) || spec.needs.find(other.name) != spec.needs.npos) &&
             !counts.contains(other.name);
    });
    EXPECT_EQ(warned || through, !counts.contains(spec.name)) << spec.name;
  }
}

TEST(ValidateTest, SchedulersWatchTheLossUnlessToldOtherwise) {
  EXPECT_EQ(InForceOf({}).schedule.early_stopping.metric, "val_categorical_cross_entropy");
  EXPECT_EQ(
      InForceOf({"--test-as-validation", "--validation-split=0"}).schedule.early_stopping.metric,
      "val_categorical_cross_entropy");
  const Options regression = InForceOf({"--loss-func=mse", "--validation-split=0"});
  EXPECT_EQ(regression.schedule.early_stopping.metric, "mse");
  EXPECT_EQ(regression.schedule.reduce_on_plateau.metric, "mse");
  EXPECT_EQ(regression.schedule.keep_best.metric, "mse");
  EXPECT_EQ(InForceOf({"--loss-func=mse", "--early-stopping-metric=val_mae"})
                .schedule.early_stopping.metric,
            "val_mae");
}

TEST(ValidateTest, WithoutValidationSchedulersWatchTraining) {
  const Options options = InForceOf({"--validation-split=0"});
  EXPECT_EQ(options.schedule.early_stopping.metric, "categorical_cross_entropy");
  EXPECT_EQ(options.schedule.stop_at.metric, "categorical_accuracy");
  EXPECT_EQ(InForceOf({}).schedule.stop_at.metric, "val_categorical_accuracy");
  const Options given =
      InForceOf({"--validation-split=0", "--stop-at-loss-metric=categorical_hinge"});
  EXPECT_EQ(given.schedule.stop_at.metric, "categorical_hinge");
}

TEST(ValidateTest, ConstantsThatAreNotGivenAreTheOptimizersOwn) {
  for (const std::string_view name : OptimizerNames()) {
    const Options options = InForceOf({"--optimizer=" + std::string(name)});
    const auto own = (*MakeOptimizer(name))->constants();
    const auto expect = [&, &name = name](const char* constant, const auto& value) {
      if (const auto found = own.find(constant); found != own.end()) {
        EXPECT_EQ(double(*value), found->second) << name << " " << constant;
      }
    };
    expect("momentum", options.optimizer.momentum);
    expect("nesterov", options.optimizer.nesterov);
    expect("decay", options.optimizer.decay);
    expect("decay of vectors", options.optimizer.decay_all);
    expect("beta1", options.optimizer.beta1);
    expect("beta2", options.optimizer.beta2);
    expect("epsilon", options.optimizer.epsilon);
    expect("rho", options.optimizer.rho);
    expect("density", options.optimizer.density);
    expect("tau", options.optimizer.tau);
    expect("tau'", options.optimizer.tau_prime);
  }
  const Options given = InForceOf({"--optimizer=adamw", "--optimizer-decay=0.5"});
  EXPECT_EQ(given.optimizer.decay, 0.5);
  EXPECT_EQ(given.optimizer.beta1, 0.9);
}

TEST(ValidateTest, OnlyWhoAsksForFilesGetsThem) {
  EXPECT_EQ(InForceOf({}).schedule.model_folder, "");
  EXPECT_EQ(InForceOf({}).schedule.schedulers,
            (Arguments{"early_stopping", "reduce_lr_on_plateau"}));
  EXPECT_EQ(InForceOf({"--model-dir=x"}).schedule.schedulers,
            (Arguments{"early_stopping", "reduce_lr_on_plateau", "model_checkpoint"}));
  EXPECT_EQ(InForceOf({"--schedulers=warm_up"}).schedule.model_folder, "");
  EXPECT_EQ(InForceOf({"--schedulers=warm_up,model_checkpoint"}).schedule.model_folder, ".");
  EXPECT_EQ(InForceOf({"--schedulers=model_checkpoint", "--model-dir=x"}).schedule.model_folder,
            "x");
}

TEST(ValidateTest, SomeOptionsExcludeEachOther) {
  EXPECT_EQ(Error({"--normalize", "--standardize"}),
            "--normalize and --standardize: cannot be used together; give one of them");
  EXPECT_EQ(Error({"--quiet", "--verbose"}),
            "--quiet and --verbose: cannot be used together; give one of them");
  EXPECT_EQ(Error({"--resume"}), "--resume: needs --checkpoint-dir, the folder of the checkpoints");
  EXPECT_EQ(Error({"--resume", "--checkpoint-dir=x", "--weights-and-bias-filename=y"}),
            "--resume and --weights-and-bias-filename: cannot be used together; give one of them");
  EXPECT_EQ(Error({"--evaluate-only", "--checkpoint-dir=x"}),
            "--checkpoint-dir and --evaluate-only: cannot be used together; give one of them");
}

TEST(ValidateTest, WhatCannotGoOnWithOtherRanksSaysSo) {
  const auto error = [](const std::string& more, const std::string& elastic = "2:4") {
    return Error({"--parallel=data", "--elastic=" + elastic, more});
  };
  EXPECT_THAT(error("--quiet", "4"), HasSubstr("--elastic=4: must be MIN:MAX"));
  EXPECT_THAT(error("--transport=mpi"),
              AllOf(HasSubstr("--elastic: needs --transport=tcp, not mpi: MPI ends all ranks"),
                    HasSubstr("exit code 75")));
  EXPECT_THAT(error("--transport=mqtt"), HasSubstr("not mqtt: the server or broker"));
  EXPECT_THAT(error("--shared-storage=False"), HasSubstr("--elastic: needs --shared-storage=True"));
  EXPECT_THAT(error("--model-sync-freq=3"), HasSubstr("--elastic: needs --shared-storage=True"));
  EXPECT_THAT(error("--optimizer=oktopk"), HasSubstr("--elastic and --optimizer=oktopk"));
  EXPECT_THAT(error("--steps-per-epoch=5"), HasSubstr("need --global-batch-size"));
  EXPECT_EQ(error("--global-batch-size=32"),
            "--global-batch-size=32: must be a multiple of every number of ranks from 2 to 4 "
            "(--elastic=2:4), but is not of 3");
  EXPECT_TRUE(
      Parse({"--parallel=data", "--elastic=2:4", "--transport=tcp", "--global-batch-size=48"})
          .ok());
}

TEST(ValidateTest, TheEndingOfAHistoryIsAKnownOne) {
  EXPECT_EQ(Error({"--history-file=a/h.json"}),
            "--history-file=a/h.json: unknown ending; must be .csv or .jsonl, or .txt, .log, .dat "
            "or none for columns of text");
  EXPECT_TRUE(Parse({"--history-file=h.CSV"}).ok());
  EXPECT_TRUE(Parse({"--history-file=h.$rank"}).ok());
}

TEST(ValidateTest, ASchedulerIsNamedOnce) {
  EXPECT_EQ(Error({"--schedulers=warm_up,cosine,warm_up"}),
            "--schedulers=warm_up,cosine,warm_up: names warm_up twice");
}

TEST(ValidateTest, ARunIsGivenNoConstantsOfOthers) {
  Options options = Parse({"--warm-up-batches=5", "--early-stopping-patience=3", "--beta1=0.5",
                           "--optimizer-momentum=0.5"})
                        ->options;
  DropOtherConstants(options);
  EXPECT_EQ(options.schedule.warm_up.batches, std::nullopt);
  EXPECT_EQ(options.schedule.early_stopping.patience, 3);
  EXPECT_EQ(options.optimizer.beta1, std::nullopt);
  EXPECT_EQ(options.optimizer.momentum, 0.5);
}

TEST(ValidateTest, OptionsOfASchedulerNeedIt) {
  EXPECT_EQ(Parse({"--warm-up-batches=5"})->warnings,
            Arguments{"--warm-up-batches has no effect without warm_up in --schedulers"});
  EXPECT_EQ(Parse({"--schedulers=warm_up", "--warm-up-batches=5"})->warnings, Arguments{});
  EXPECT_EQ(Parse({"--schedulers=", "--early-stopping-patience=3"})->warnings.size(), 1u);
}

TEST(ValidateTest, EarlyStoppingFollowsItsMetricUnlessToldOtherwise) {
  const auto minimizes = [](const Arguments& arguments) {
    return *InForceOf(arguments).schedule.early_stopping.minimize;
  };
  EXPECT_TRUE(minimizes({}));
  EXPECT_FALSE(minimizes({"--early-stopping-metric=val_accuracy"}));
  EXPECT_FALSE(minimizes({"--early-stopping-metric=per_class_report"}));
  EXPECT_TRUE(minimizes({"--early-stopping-metric=val_categorical_hinge"}));
  EXPECT_EQ(Parse({"--early-stopping-metric=val_accuracy"})->warnings, Arguments{});
  EXPECT_TRUE(minimizes({"--early-stopping-metric=val_accuracy", "--early-stopping-minimize"}));
}

TEST(ValidateTest, OptionsThatBelongToASwitchNeedIt) {
  EXPECT_EQ(Parse({"--augment-crop-size=20"})->warnings,
            Arguments{"--augment-crop-size has no effect without --augment-crop"});
  EXPECT_EQ(Parse({"--augment-crop", "--augment-crop-size=20"})->warnings, Arguments{});
  EXPECT_EQ(Parse({"--checkpoint-steps=20"})->warnings,
            Arguments{"--checkpoint-steps has no effect without --checkpoint-dir"});
}

TEST(ValidateTest, AFileOfDecisionsNeedsWhoDecides) {
  EXPECT_EQ(Parse({"--enable-gpu", "--best-of-file=x", "--enable-cudnn-auto-conv-alg"})->warnings,
            Arguments{});
  EXPECT_EQ(Parse({"--enable-gpu", "--best-of-file=x"})->warnings,
            Arguments{"--best-of-file has no effect without --enable-cudnn-auto-conv-alg"});
  EXPECT_EQ(Parse({"--enable-best-of", "--best-of-file=x"})->warnings, Arguments{});
  EXPECT_EQ(Parse({"--best-of-file=x"})->warnings,
            Arguments{"--best-of-file has no effect without --enable-best-of"});
}

}  // namespace
}  // namespace dtnn

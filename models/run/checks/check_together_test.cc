// Every pair of members that cannot be used together, and what stands nearest to it and can.

#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/checks/check_options.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using Names = std::vector<std::string>;
using Edit = std::function<void(RunOptions& o)>;

struct Case {
  Edit edit;
  std::string part;  // of the message; empty: nothing is wrong
};

// Each case, after `base`.
void Expect(const Edit& base, const std::vector<Case>& cases) {
  for (size_t i = 0; i < cases.size(); ++i) {
    RunOptions options;
    base(options);
    cases[i].edit(options);
    const std::string message(CheckRunOptions(options).message());
    if (cases[i].part.empty()) {
      EXPECT_EQ(message, "") << "case " << i;
    } else {
      EXPECT_THAT(message, HasSubstr(cases[i].part)) << "case " << i;
    }
  }
}

const Edit kNothing = [](auto&) {};

TEST(CheckTogetherTest, DataAndOutput) {
  Expect(kNothing,
         {{[](auto& o) { o.data.normalize = true, o.data.standardize = false; }, ""},
          {[](auto& o) { o.data.normalize = false, o.data.standardize = true; }, ""},
          {[](auto& o) { o.output.quiet = true; }, ""},
          {[](auto& o) { o.output.quiet = true, o.output.verbose = Verbosity::kYes; },
           "output.quiet and RunOptions::output.verbose: "},
          {[](auto& o) { o.data.augment.transforms = "cutout"; }, ""},
          {[](auto& o) { o.data.augment.flip = o.data.augment.crop = true; }, ""},
          {[](auto& o) { o.data.augment.transforms = "cutout", o.data.augment.crop = true; },
           "augment.transforms=cutout: cannot be used with"},
          {[](auto& o) { o.schedule.schedulers = Names{"cosine"}; }, ""},
          {[](auto& o) {
             o.schedule.schedulers = Names{"cosine", "one_cycle"};
           },
           "cosine and one_cycle both set the rate of the whole run"},
          {[](auto& o) {
             o.schedule.schedulers = Names{"polynomial", "one_cycle"};
           },
           "polynomial and one_cycle both set the rate of the whole run"},
          {[](auto& o) {
             o.schedule.schedulers = Names{"polynomial", "cosine"};
           },
           "cosine and polynomial both set the rate of the whole run"}});
}

TEST(CheckTogetherTest, DataOfEachRank) {
  const Edit ranks = [](auto& o) { o.ranks.parallel = Parallel::kData; };
  Expect(ranks, {{[](auto& o) { o.data.path = "d$rank"; }, "data.path=d$rank: $rank means that"},
                 {[](auto& o) { o.data.train_path = "d$rank"; }, "data.train_path=d$rank: "},
                 {[](auto& o) { o.data.test_path = "d$rank"; }, "data.test_path=d$rank: "},
                 {[](auto& o) { o.data.path = "d$rank", o.ranks.shared_storage = false; }, ""}});
  Expect(kNothing, {{[](auto& o) { o.data.path = "d$rank"; }, ""}});
}

TEST(CheckTogetherTest, Devices) {
  const Edit gpu = [](auto& o) { o.device.gpu = true; };
  Expect(kNothing,
         {{[](auto& o) { o.convolution.variant = "gemm"; }, ""},
          {[](auto& o) { o.convolution.best_of = true; }, ""},
          {[](auto& o) { o.convolution.variant = "gemm", o.convolution.best_of = true; },
           "convolution.variant=gemm and RunOptions::convolution.best_of: "},
          {[](auto& o) { o.device.math_mode = MathMode::kBf16; }, ""},
          {[](auto& o) { o.device.gpudirect = true, o.ranks.parallel = Parallel::kData; }, ""}});
  Expect(gpu,
         {{kNothing, ""},
          {[](auto& o) { o.convolution.variant = "gemm"; },
           "convolution.variant and RunOptions::device.gpu: "},
          {[](auto& o) { o.device.gpudirect = true; }, ""},
          {[](auto& o) { o.device.gpudirect = true, o.ranks.parallel = Parallel::kData; },
           "device.gpudirect: gradients go to MPI through pinned memory"},
          {[](auto& o) { o.device.math_mode = MathMode::kTf32; }, ""},
          {[](auto& o) { o.device.math_mode = MathMode::kTf32, o.network.dtype = DType::kFloat64; },
           "device.math_mode=tf32 and RunOptions::network.dtype=float64: "}});
}

TEST(CheckTogetherTest, Checkpoints) {
  Expect(kNothing,
         {{[](auto& o) { o.checkpoint.resume = Resume::kYes; }, "checkpoint.resume: needs "},
          {[](auto& o) { o.checkpoint.resume = Resume::kIfThere; }, "checkpoint.resume: needs "},
          {[](auto& o) { o.network.weights = "w.npz"; }, ""}});
  const Edit folder = [](auto& o) { o.checkpoint.folder = "c"; };
  Expect(
      folder,
      {{kNothing, ""},
       {[](auto& o) { o.checkpoint.resume = Resume::kYes; }, ""},
       {[](auto& o) { o.checkpoint.resume = Resume::kYes, o.network.weights = "w.npz"; },
        "checkpoint.resume and RunOptions::network.weights: "},
       {[](auto& o) { o.checkpoint.resume = Resume::kIfThere, o.network.weights = "w.npz"; }, ""},
       {[](auto& o) { o.training.evaluate_only = true; },
        "checkpoint.folder and RunOptions::training.evaluate_only: "}});
}

TEST(CheckTogetherTest, StepsThatRanksTakeTogether) {
  const std::vector<Edit> alone = {[](auto& o) { o.sync.model_steps = 3; },
                                   [](auto& o) { o.ranks.shared_storage = false; }};
  const std::vector<std::pair<Edit, std::string>> members = {
      {[](auto& o) { o.sync.batch_norm = true; }, "sync.batch_norm: needs "},
      {[](auto& o) { o.optimizer.average_decay = 0.9; }, "optimizer.average_decay: needs "},
      {[](auto& o) { o.optimizer.name = "oktopk"; }, "optimizer.name=oktopk: needs "}};
  for (const auto& [edit, part] : members) {
    Expect(edit, {{kNothing, ""}, {alone[0], part}, {alone[1], part}});
  }
  Expect([](auto& o) { o.optimizer.average_decay = 0; }, {{alone[0], ""}, {alone[1], ""}});
}

TEST(CheckTogetherTest, Oktopk) {
  const Edit oktopk = [](auto& o) { o.optimizer.name = "oktopk"; };
  Expect(oktopk, {{[](auto& o) { o.sync.compression = "fp16"; },
                   "optimizer.name=oktopk and RunOptions::sync.compression=fp16: "},
                  {[](auto& o) { o.device.gpu = true; }, "oktopk and RunOptions::device.gpu: "},
                  {[](auto& o) { o.network.dtype = DType::kFloat64; },
                   "oktopk and RunOptions::network.dtype=float64: "},
                  {[](auto& o) { o.ranks.parallel = Parallel::kFederated; },
                   "oktopk and RunOptions::ranks.parallel=federated: "}});
  Expect(kNothing, {{[](auto& o) { o.sync.compression = "fp16"; }, ""},
                    {[](auto& o) { o.sync.compression = "fp16", o.device.nccl = true; },
                     "sync.compression=fp16 and RunOptions::device.nccl: "}});
}

TEST(CheckTogetherTest, TheRateThatIsFound) {
  const Edit finds = [](auto& o) { o.optimizer.find_learning_rate = true; };
  const auto part = [](const std::string& other) {
    return "optimizer.find_learning_rate and RunOptions::" + other + ": ";
  };
  Expect(finds, {{kNothing, ""},
                 {[](auto& o) { o.checkpoint = {.folder = "c", .resume = Resume::kYes}; },
                  part("checkpoint.resume")},
                 {[](auto& o) { o.ranks.elastic = "1:2"; }, part("ranks.elastic")},
                 {[](auto& o) { o.ranks.parallel = Parallel::kData; }, ""},
                 {[](auto& o) { o.ranks.parallel = Parallel::kFederated; },
                  part("ranks.parallel=federated")}});
}

TEST(CheckTogetherTest, ElasticRanks) {
  const Edit elastic = [](auto& o) {
    o.ranks.parallel = Parallel::kData, o.ranks.elastic = "2:4", o.training.global_batch = 24;
  };
  Expect(elastic,
         {{kNothing, ""},
          {[](auto& o) { o.ranks.elastic = "4:2"; }, "RunOptions::ranks.elastic=4:2: "},
          {[](auto& o) { o.ranks.parallel = Parallel::kSequential; },
           "needs ranks that train together; add RunOptions::ranks.parallel=data"},
          {[](auto& o) { o.ranks.transport = Transport::kTcp; }, ""},
          {[](auto& o) { o.ranks.transport = Transport::kMpi; },
           "needs RunOptions::ranks.transport=tcp, not mpi: MPI ends all ranks with the first"},
          {[](auto& o) { o.ranks.transport = Transport::kGrpc; },
           "needs RunOptions::ranks.transport=tcp, not grpc: the server or broker of the others"},
          {[](auto& o) { o.ranks.shared_storage = false; },
           "ranks.elastic: needs RunOptions::ranks.shared_storage=True and"},
          {[](auto& o) { o.sync.model_steps = 3; },
           "ranks.elastic: needs RunOptions::ranks.shared_storage=True and"},
          {[](auto& o) { o.device.nccl = true; }, "ranks.elastic and RunOptions::device.nccl: "},
          {[](auto& o) { o.optimizer.name = "oktopk"; },
           "ranks.elastic and RunOptions::optimizer.name=oktopk: "},
          {[](auto& o) { o.training.global_batch = 28; }, "but is not of 3"},
          {[](auto& o) { o.training.global_batch = 6; }, "but is not of 4"},
          {[](auto& o) { o.training.global_batch = 36; }, ""},
          {[](auto& o) { o.training.steps_per_epoch = 5; }, ""},
          {[](auto& o) { o.training.global_batch.reset(); }, ""},
          {[](auto& o) { o.training.global_batch.reset(), o.training.steps_per_epoch = 5; },
           "ranks.elastic and RunOptions::training.steps_per_epoch: need "}});
}

TEST(CheckTogetherTest, EncryptedSumsOfRanks) {
  const Edit encrypted = [](auto& o) {
    o.ranks.parallel = Parallel::kData, o.encryption.kind = "tenseal", o.encryption.key_file = "k";
  };
  const auto part = [](const std::string& other) {
    return "encryption.kind=tenseal and RunOptions::" + other + ": ";
  };
  Expect(encrypted,
         {{kNothing, ""},
          {[](auto& o) { o.encryption.key_file = ""; },
           "encryption.key_file: missing; RunOptions::encryption.kind=tenseal needs the key that "
           "all ranks share"},
          {[](auto& o) { o.encryption.kind = "masked"; },
           "encryption.kind=masked and RunOptions::ranks.parallel=data: "},
          {[](auto& o) { o.sync.mpi_sums = false; }, ""},
          {[](auto& o) { o.sync.mpi_sums = true; }, part("sync.mpi_sums=True")},
          {[](auto& o) { o.device.nccl = true; }, part("device.nccl")},
          {[](auto& o) { o.device.gpu = true; }, part("device.gpu")},
          {[](auto& o) { o.network.dtype = DType::kFloat64; }, part("network.dtype=float64")},
          {[](auto& o) { o.sync.compression = "bf16"; }, part("sync.compression=bf16")},
          {[](auto& o) { o.optimizer.name = "oktopk"; }, part("optimizer.name=oktopk")},
          {[](auto& o) { o.sync.batch_norm = true; }, part("sync.batch_norm")},
          {[](auto& o) { o.ranks.elastic = "1:2"; }, part("ranks.elastic")}});
  Expect(kNothing, {{[](auto& o) { o.encryption.kind = "masked"; }, "sends nothing; add "}});
}

TEST(CheckTogetherTest, Clients) {
  const Edit client = [](auto& o) { o.ranks.parallel = Parallel::kFederated; };
  const auto part = [](const std::string& other) {
    return "ranks.parallel=federated and RunOptions::" + other + ": ";
  };
  Expect(client,
         {{kNothing, ""},
          {[](auto& o) { o.encryption.kind = "masked"; }, ""},
          {[](auto& o) { o.encryption.kind = "tenseal"; }, "needs the key that all clients share"},
          {[](auto& o) { o.encryption.kind = "tenseal", o.encryption.key_file = "k"; }, ""},
          {[](auto& o) { o.device.gpu = true; }, part("device.gpu")},
          {[](auto& o) { o.ranks.transport = Transport::kMpi; }, part("ranks.transport=mpi")},
          {[](auto& o) { o.ranks.transport = Transport::kGrpc; }, ""},
          {[](auto& o) { o.network.dtype = DType::kFloat64; }, part("network.dtype=float64")},
          {[](auto& o) { o.training.evaluate_only = true; }, part("training.evaluate_only")},
          {[](auto& o) { o.network.weights = "w.npz"; }, part("network.weights")}});
}

TEST(CheckTogetherTest, Traces) {
  const Edit trace = [](auto& o) { o.output.trace = "t.csv"; };
  Expect(trace, {{kNothing, ""},
                 {[](auto& o) { o.output.tracing = true; }, ""},
                 {[](auto& o) { o.output.tracing = false; },
                  "output.tracing=False and RunOptions::output.trace=t.csv: contradict each other"},
                 {[](auto& o) { o.output.trace = "t{rank}.csv"; }, ""},
                 {[](auto& o) { o.output.trace = "t{rank}.json"; },
                  "output.trace=t{rank}.json: such a file has all ranks"},
                 {[](auto& o) { o.output.trace = "t{rank}.prv"; }, "such a file has all ranks"}});
  Expect(kNothing, {{[](auto& o) { o.output.tracing = false; }, ""},
                    {[](auto& o) { o.output.report = "r.htm"; }, ""},
                    {[](auto& o) { o.output.profile.file = "p.csv"; }, ""}});
}

TEST(CheckTogetherTest, BatchesAndShapes) {
  Expect(kNothing,
         {{[](auto& o) { o.training.batch = 8; }, ""},
          {[](auto& o) { o.training.global_batch = 8; }, ""},
          {[](auto& o) { o.training.batch = o.training.global_batch = 8; },
           "training.batch=8 and RunOptions::training.global_batch=8: cannot be used together"},
          {[](auto& o) {
             o.data.synthetic.input_shape = {3, 8};
           },
           "synthetic.input_shape=3,8: must be three whole numbers"},
          {[](auto& o) {
             o.data.synthetic.output_shape = {3, 8};
           },
           "synthetic.output_shape=3,8: must be one whole number"}});
}

}  // namespace
}  // namespace dtnn

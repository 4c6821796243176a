#include "models/run/parts/make_device.h"

#include "comm/local.h"
#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

RunOptions OnGpu(const char* device) {
  RunOptions options;
  options.device.gpu = true;
  options.device.gpu_device = device;
  return options;
}

TEST(MakeDeviceTest, TheOptionsNameTheDevice) {
  EXPECT_EQ((*MakeDevice(RunOptions(), {}))->device(), Device::Cpu());
  for (const int rank : {0, 3}) {  // of processes, which have a GPU each
    EXPECT_EQ((*MakeDevice(OnGpu("simulated"), {.node_rank = rank, .node_size = 4}))->device(),
              Device::Simulated(0));
  }
  const auto cuda = MakeDevice(OnGpu("cuda"), {.node_rank = 1, .node_size = 2});
  if (cuda.ok()) return;  // there is one
  EXPECT_EQ(ExitCodeOf(cuda.status()), kExitUsage);
  EXPECT_THAT(std::string(cuda.status().message()),
              HasSubstr("; RunOptions::device.gpu_device=simulated needs no GPU"));
}

TEST(MakeDeviceTest, GpusOfAHostAreThoseThatItsRanksUse) {
  const RankPlace place = {.node_rank = 1, .node_size = 3};
  EXPECT_EQ(GpusPerHost(RunOptions(), place), 0);
  EXPECT_EQ(GpusPerHost(OnGpu("simulated"), place), 3);
  EXPECT_LE(GpusPerHost(OnGpu("cuda"), place), 3);
}

TEST(MakeDeviceTest, CollectivesAreMadeWhereTheyAreAskedFor) {
  const absl::Status status = RunRanks(2, [](Communicator& communicator) -> absl::Status {
    RunOptions options = OnGpu("simulated");
    DTNN_ASSIGN_OR_RETURN(const auto gpu, MakeDevice(options, communicator.place()));
    EXPECT_EQ(*MakeCollectives(options, &communicator, *gpu), nullptr);
    options.device.nccl = true;
    EXPECT_EQ(*MakeCollectives(options, nullptr, *gpu), nullptr);
    // Threads of this process have one simulated GPU.
    const absl::Status refused = MakeCollectives(options, &communicator, *gpu).status();
    EXPECT_EQ(ExitCodeOf(refused), kExitUsage);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("RunOptions::device.nccl: ranks 0 and 1 have the same GPU"));
    const auto second = *DeviceContext::Create(Device::Simulated(communicator.rank()));
    EXPECT_NE(*MakeCollectives(options, &communicator, *second), nullptr);
    return communicator.Barrier();
  });
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace dtnn

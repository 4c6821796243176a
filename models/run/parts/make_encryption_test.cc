#include "models/run/parts/make_encryption.h"

#include <sys/resource.h>

#include <cstdlib>
#include <string>

#include "comm/local.h"
#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/access/private_file.h"
#include "tensor/must.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

RunOptions Encrypted() {
  RunOptions options;
  options.ranks.parallel = Parallel::kData;
  options.encryption.kind = "tenseal";
  return options;
}

TEST(MakeEncryptionTest, OnlyRanksEncryptSums) {
  RunOptions options = Encrypted();
  EXPECT_TRUE(EncryptsSums(options));
  options.ranks.parallel = Parallel::kFederated;
  EXPECT_FALSE(EncryptsSums(options));
  options = Encrypted();
  options.encryption.kind = "";
  EXPECT_FALSE(EncryptsSums(options));
}

TEST(MakeEncryptionTest, AMissingKeyFileIsNamed) {
  RunOptions options = Encrypted();
  options.encryption.key_file = "/no/such/key";
  const auto key = ReadKeyOfRanks(options);
  EXPECT_EQ(ExitCodeOf(key.status()), kExitFailed);
  EXPECT_THAT(std::string(key.status().message()), HasSubstr("RunOptions::encryption.key_file: "));
  EXPECT_THAT(std::string(key.status().message()), HasSubstr("/no/such/key"));
}

// Also under mpirun, where there is no secret of a job.
TEST(MakeEncryptionTest, AProcessWithAKeyLeavesNoCoreFile) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &limit), 0);
  const std::string file = std::string(std::getenv("TEST_TMPDIR")) + "/key";
  Must(WritePrivateFile(file, "a key that nobody else has: 0123456789abcdef"));
  RunOptions options = Encrypted();
  options.encryption.key_file = file;
  EXPECT_TRUE(ReadKeyOfRanks(options).ok());
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &limit), 0);
  EXPECT_LE(limit.rlim_cur, 1u);
}

TEST(MakeEncryptionTest, SumsOutliveWhoMadeThem) {
  const absl::Status status = RunRanks(2, [](Communicator& c) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const SumOverRanks sum, MakeEncryptedSum(Encrypted(), Secret(), c));
    const Tensor numbers = testing::TensorOf(DType::kFloat32, {2}, {1, -2});
    DTNN_RETURN_IF_ERROR(sum(numbers));
    EXPECT_NEAR(numbers.data<float>()[0], 2, 1e-6);
    EXPECT_NEAR(numbers.data<float>()[1], -4, 1e-6);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(MakeEncryptionTest, ParametersThatAreNotSecureAreWrongUsage) {
  const absl::Status status = RunRanks(2, [](Communicator& c) -> absl::Status {
    RunOptions options = Encrypted();
    options.encryption.poly_degree = 10;
    const absl::Status refused = MakeEncryptedSum(options, Secret(), c).status();
    EXPECT_EQ(ExitCodeOf(refused), kExitUsage) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("RunOptions::encryption.poly_degree"));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace dtnn

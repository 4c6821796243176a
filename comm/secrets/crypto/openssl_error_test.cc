#include "comm/secrets/crypto/openssl_error.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(OpenSslErrorTest, NamesTheReasonOnceAndForgetsIt) {
  ERR_clear_error();
  EXPECT_EQ(OpenSslError("count"), absl::InternalError("OpenSSL cannot count: no reason given"));
  // A key of X25519 has 32 bytes.
  const unsigned char key[3] = {};
  ASSERT_EQ(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, key, sizeof(key)), nullptr);
  const absl::Status error = OpenSslError("use a key");
  EXPECT_THAT(std::string(error.message()),
              ::testing::MatchesRegex("OpenSSL cannot use a key: error:.+"));
  EXPECT_EQ(OpenSslError("use it").message(), "OpenSSL cannot use it: no reason given");
}

}  // namespace
}  // namespace dtnn

#include "comm/secrets/crypto/ed25519_file.h"

#include <sys/stat.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/access/private_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

std::string FileWith(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "/" + name;
  Must(WritePrivateFile(path, text));
  return path;
}

std::string ErrorOf(const std::string& path) {
  return std::string(ReadEd25519File(path).status().message());
}

// The bytes 0, 1, ... as `openssl pkey` writes them.
constexpr char kCounting[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n"
    "-----END PRIVATE KEY-----\n";

TEST(Ed25519FileTest, IsThatOfOpenssl) {
  const std::string path = FileWith("counting.key", kCounting);
  const Secret read = Must(ReadEd25519File(path));
  for (size_t i = 0; i < Secret::kSize; ++i) EXPECT_EQ(read.bytes()[i], i);
  const std::string other = ::testing::TempDir() + "/written.key";
  Must(WriteEd25519File(other, read));
  const std::vector<std::byte> bytes = Must(ReadPrivateFile(other, 4096));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), kCounting);
}

TEST(Ed25519FileTest, WhatIsNotSuchAKeyIsRefused) {
  const std::string counting = kCounting;
  const std::pair<std::string, std::string> wrong[] = {
      {"empty", ""},
      {"text", "a secret"},
      {"cut", counting.substr(0, 60)},
      // `openssl genpkey -algorithm x25519`.
      {"x25519",
       "-----BEGIN PRIVATE KEY-----\n"
       "MC4CAQAwBQYDK2VuBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n"
       "-----END PRIVATE KEY-----\n"},
  };
  for (const auto& [name, text] : wrong) {
    EXPECT_THAT(ErrorOf(FileWith(name, text)),
                HasSubstr(name + ": is not a private key of Ed25519 in PEM form"));
  }
  const std::string open = FileWith("open.key", kCounting);
  ASSERT_EQ(chmod(open.c_str(), 0640), 0);
  EXPECT_THAT(ErrorOf(open), HasSubstr("open.key: other users may read or change it"));
  EXPECT_THAT(ErrorOf(FileWith("long", std::string(5000, 'x'))), HasSubstr("long: "));
  EXPECT_THAT(ErrorOf("/none/here"), HasSubstr("/none/here"));
}

// A program that asked at a terminal would wait for ever.
TEST(Ed25519FileTest, APassphraseIsNotAskedFor) {
  // `openssl pkey -aes256 -passout pass:x` of the same key.
  const std::string path = FileWith("locked", R"(-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhmzmJ/nyf6ggICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEENUcqwtiUzYIWdQBzZhlCTQEQBrq
13/vsr6+3Rgv3VQZQKLrx+3ivRT7DwFzjuZsEZDc1oQTCS7hmYMNPjM+rAYyAPXP
ggdAjbCKZ1xMKiOMzZ0=
-----END ENCRYPTED PRIVATE KEY-----
)");
  EXPECT_THAT(ErrorOf(path), HasSubstr("without a passphrase"));
}

}  // namespace
}  // namespace dtnn

#include "comm/transport/tls/testing/host_files.h"

#include <filesystem>
#include <fstream>

#include "comm/transport/tls/authority.h"
#include "tensor/must.h"

namespace dtnn::testing {

TlsFiles HostFiles(const std::string& folder, const std::string& name) {
  return {folder + "/" + name + ".pem", folder + "/" + name + ".key", folder + "/authority.pem"};
}

TlsFiles WriteHostFiles(const std::string& folder, const std::string& name,
                        const std::vector<std::string>& hosts) {
  const TlsFiles files = HostFiles(folder, name);
  const Certificate authority = Must(MakeAuthority("test"));
  const Certificate host = Must(MakeHostCertificate(authority, hosts));
  std::filesystem::remove(files.key);  // which only its owner may read, and nobody may change
  std::ofstream(files.authority) << authority.certificate;
  std::ofstream(files.certificate) << host.certificate;
  std::ofstream(files.key) << host.key;
  std::filesystem::permissions(files.key, std::filesystem::perms::owner_read);
  return files;
}

}  // namespace dtnn::testing

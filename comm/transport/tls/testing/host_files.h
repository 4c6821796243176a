// Certificates of a host, for tests of what runs on one.

#ifndef DTNN_COMM_TRANSPORT_TLS_TESTING_HOST_FILES_H_
#define DTNN_COMM_TRANSPORT_TLS_TESTING_HOST_FILES_H_

#include <string>
#include <vector>

#include "comm/transport/tls/tls_stream.h"

namespace dtnn::testing {

// NAME.pem, NAME.key and authority.pem of a folder.
TlsFiles HostFiles(const std::string& folder, const std::string& name = "host");

// Writes them into a folder that exists: for a host of these names, from an authority of its own.
TlsFiles WriteHostFiles(const std::string& folder, const std::string& name = "host",
                        const std::vector<std::string>& hosts = {"localhost", "127.0.0.1"});

}  // namespace dtnn::testing

#endif  // DTNN_COMM_TRANSPORT_TLS_TESTING_HOST_FILES_H_

package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// ServerName is what the certificate of a secure server holds besides its
// address.
const ServerName = "redis.test"

// Secrets are what a client of a secure server needs, in PEM.
type Secrets struct{ CA, Cert, Key []byte }

// StartSecure starts a server that speaks TLS only, and only to clients that
// show a certificate of its authority.
func StartSecure(t testing.TB, args ...string) (*Server, Secrets) {
	t.Helper()
	ca, caKey := issue(t, nil, nil)
	cert, key := issue(t, ca, caKey)
	secrets := Secrets{CA: pemOf("CERTIFICATE", ca.Raw), Cert: pemOf("CERTIFICATE", cert.Raw), Key: pemKey(t, key)}
	dir, port := t.TempDir(), freePort(t)
	args = append([]string{
		"--port", "0", "--tls-port", port, "--tls-auth-clients", "yes",
		"--tls-ca-cert-file", write(t, dir, "ca.pem", secrets.CA),
		"--tls-cert-file", write(t, dir, "cert.pem", secrets.Cert),
		"--tls-key-file", write(t, dir, "key.pem", secrets.Key),
	}, args...)
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	return start(t, port, ready, &tls.Config{
		MinVersion:   tls.VersionTLS12,
		RootCAs:      pool,
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}},
	}, args), secrets
}

// issue makes a certificate, signed by an authority or, without one, by itself.
// One certificate serves both sides.
func issue(t testing.TB, ca *x509.Certificate, caKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: ServerName},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		DNSNames:              []string{ServerName},
		IPAddresses:           []net.IP{net.ParseIP(host)},
	}
	if ca == nil {
		made.IsCA, made.KeyUsage, made.Subject.CommonName = true, x509.KeyUsageCertSign, "authority"
		ca, caKey = made, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, made, ca, &key.PublicKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func pemOf(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}

func pemKey(t testing.TB, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf("EC PRIVATE KEY", raw)
}

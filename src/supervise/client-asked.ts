// The cause of a fault at a start that is not the server's: its client asked for what cannot be done. It is
// not charged to the server.

export class ClientAsked extends Error {}
